"""What tests of traces and of report pages share: comparisons, a browser, an outside reader of traces."""
