"""Errors that a user can mend, apart from defects of the project.

An exception of class `UserError` is a message for the user: ``str()`` of it says in one line what
is wrong, where, and what to do. The command line prints it and exits with 2 (or the exit code of
its class); whatever else arrives there is a defect of ours, and says what to report. So a function
that refuses what a user gave it raises a `UserError`, not a bare `ValueError`.
"""

__all__ = ["UserError", "InputError", "ToolError"]


class UserError(Exception):
    """Base of all errors that the user can mend; ``str()`` of it is the message.

    Attributes
    ----------
    exit_code : int
        Exit code of the command line.
    """

    exit_code = 2


class InputError(UserError, ValueError):
    """A value, a file or an option that cannot be used."""


class ToolError(UserError, RuntimeError):
    """A program or a package that a command needs is missing or failed."""
