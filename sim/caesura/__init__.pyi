# Part of the package whose stub is in src; without this file type checkers do not look here.
