"""Refuses a commit message with a subject of more than 72 characters (`.pre-commit-config.yaml`)."""

import sys
from pathlib import Path

MOST = 72


def refusal(message: str) -> str:
    """Return why a commit message is refused, in one line; empty if it is not."""
    subject, *rest = message.splitlines() or [""]
    if not subject.strip():
        return "the commit message has no subject"
    if len(subject) > MOST:
        return f"the subject has {len(subject)} characters, and may have {MOST}"
    return "put an empty line behind the subject" if rest and rest[0] and not rest[0].startswith("#") else ""


if __name__ == "__main__":
    sys.exit(refusal(Path(sys.argv[1]).read_text()) or None)
