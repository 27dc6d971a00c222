"""What can go wrong in a lab. Every message is one sentence: what came, and what to do.

LabError
├── LabRefused     the lab's folder or database cannot be used
├── Refused        what was sent cannot be taken          (HTTP 422)
├── SignInNeeded   no token came, or one that is not good (HTTP 401)
├── Forbidden      the token does not allow it            (HTTP 403)
├── NotFound       nothing of that name is in the lab     (HTTP 404)
├── Ambiguous      more than one thing has that name      (HTTP 409)
├── TooMany        requests come faster than is allowed   (HTTP 429)
├── Busy           others are served first                (HTTP 503)
├── Unreachable    no perflab server answers at that address
├── PortRefused    the server cannot listen at that address
└── DemoFailed     a process that the demo started did not do its work
"""


class LabError(Exception):
    """The base of every error of the service and of the commands that talk to it."""


class LabRefused(LabError):
    """The lab's folder or database cannot be used."""


class Refused(LabError):
    """What was sent cannot be taken: a bad file, a commit that is no SHA, a missing project."""


class SignInNeeded(LabError):
    """No token came where one is needed, or one that is unknown, revoked or expired."""


class Forbidden(LabError):
    """The token does not allow it: its scope is too small, or it is for another project."""


class NotFound(LabError):
    """Nothing of that name is in the lab."""


class Ambiguous(LabError):
    """More than one thing has that name; the message lists them."""


class TooMany(LabError):
    """Requests come faster than is allowed; the message says when to ask again."""


class Busy(LabError):
    """Others are served first; the same can be asked again in a moment."""


class Unreachable(LabError):
    """No perflab server answers at that address, or what answers is not one."""


class PortRefused(LabError):
    """The server cannot listen at that address: the port is in use or not allowed."""


class DemoFailed(LabError):
    """A process that the demo started did not do its work."""
