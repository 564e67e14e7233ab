"""What a plugin's process does before the plugin runs: takes its limits and ties its life to the daemon's.

`python -I -S bootstrap.py LIMITS command…` does so and becomes the command; the sdk's worker calls the functions. LIMITS
is a flat JSON object of integers: those of `apply`, and `parent`, the pid of the daemon.
"""

# Every call of an executable waits for this file. json, ctypes, signal and contextlib would each cost it more than all
# that it does: so it takes what lies beneath two of them, and does without the others.
from __future__ import annotations

import _ctypes
import _signal  # type: ignore[import-not-found]
import errno
import os
import resource
import sys

_LIMITS = {
    "address_space": (resource.RLIMIT_AS, 0),
    "open_files": (resource.RLIMIT_NOFILE, 0),
    # SIGXCPU says what a process died of; the second until SIGKILL is for one that does not heed it.
    "cpu_seconds": (resource.RLIMIT_CPU, 1),
}
_OOM_SCORE = 500  # of 1000: short of memory the kernel is to end a plugin, not the daemon
_PR_SET_PDEATHSIG = 1
_NOT_FOUND, _NOT_EXECUTABLE, _MISUSED = 127, 126, 2  # exit codes, as shells have them
_USAGE = "usage: bootstrap.py LIMITS command [argument…]; the daemon starts it. Try: hermes run"


def apply(limits: dict[str, int]) -> None:
    """Limit this process and its future children for good: `address_space` in bytes, `open_files`, `cpu_seconds`.

    What is limited lower already stays so. There are no core dumps, and the kernel takes it first when memory is short.
    Raises KeyError if there is no such limit.
    """
    _limit(resource.RLIMIT_CORE, 0)
    for name, value in limits.items():
        kind, grace = _LIMITS[name]
        _limit(kind, value, grace=grace)
    _volunteer()


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the thread that started it ends; leave now if `parent` is gone already.

    Linux only; elsewhere a process has to notice the end of its stdin.
    """
    if sys.platform == "linux":
        prctl(_PR_SET_PDEATHSIG, _signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def prctl(option: int, argument: int) -> bool:
    """Tell the kernel something about this process, and say whether it took it; `option` is a PR_ number."""
    library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # what this process has loaded
    function = _ctypes.dlsym(library, "prctl")
    return _ctypes.call_function(function, (option, argument, 0, 0, 0)) == 0  # type: ignore[no-any-return]


def close_inherited() -> None:
    """Close everything but stdin, stdout and stderr.

    The daemon's event loop leaves its children copies of all three, which would keep a stdout open that the plugin has
    closed.
    """
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:  # the one that was open for the listing
                continue


def parse(text: str) -> dict[str, int]:
    """Read a flat JSON object of integers; raises ValueError if it is none."""
    limits = {}
    for member in filter(None, text.strip("{} ").split(",")):
        name, number = member.split(":")
        limits[name.strip(' "')] = int(number)
    return limits


def main() -> None:
    """Become the command of sys.argv; exit like a shell, with one line on stderr, if it cannot be run."""
    if len(sys.argv) < 3:
        sys.stderr.write(_USAGE + "\n")
        sys.exit(_MISUSED)
    limits, command = parse(sys.argv[1]), sys.argv[2:]
    die_with_parent(limits.pop("parent", os.getppid()))
    close_inherited()
    apply(limits)
    _restore_signals()
    try:
        os.execvpe(command[0], command, _environment())  # noqa: S606 - that is what this is for
    except OSError as error:
        sys.stderr.write(f"hermes: {command[0]} cannot be run: {_reason(command[0], error)}\n")
        missing = error.errno in {errno.ENOENT, errno.ENOTDIR}
        sys.exit(_NOT_FOUND if missing else _NOT_EXECUTABLE)


def _limit(kind: int, value: int, *, grace: int = 0) -> None:
    hard = resource.getrlimit(kind)[1]
    most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
    try:
        resource.setrlimit(kind, (min(value, most), min(value + grace, most)))
    except (OSError, ValueError):
        if sys.platform == "linux":  # others have no limit of the address space, or refuse to set it
            raise


def _volunteer() -> None:
    """Raise the score by which the kernel chooses whom to end when memory is short, if it is not as high already."""
    try:
        with open("/proc/self/oom_score_adj", "r+", encoding="ascii") as file:
            if int(file.read()) < _OOM_SCORE:
                file.seek(0)
                file.write(str(_OOM_SCORE))
    except (
        OSError
    ):  # no such thing here, or a container that forbids it; the process is as well off as the daemon
        return


def _restore_signals() -> None:
    """Undo what Python ignores for itself, which would be handed on: a `yes | head` has to end."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(_signal, name):
            _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


def _environment() -> dict[str, str]:
    """Return the environment as it was given: without a locale Python adds LC_CTYPE to it."""
    environment = dict(os.environ)
    try:
        with open("/proc/self/environ", "rb") as file:
            given = file.read().split(b"\0")
    except OSError:
        return environment
    if not any(variable.startswith(b"LC_CTYPE=") for variable in given):
        environment.pop("LC_CTYPE", None)
    return environment


def _reason(program: str, error: OSError) -> str:
    if error.errno == errno.ENOEXEC:
        return "it is neither a program nor a script that begins with #!"
    if error.errno == errno.EACCES:
        return "it is not executable; chmod +x it"
    if error.errno != errno.ENOENT:
        return error.strerror or str(error)
    if os.path.dirname(program) and os.path.exists(program):
        with open(program, "rb") as file:
            return f"there is no such interpreter as its first line names: {file.readline(200)!r}"
    return "there is no such file; a command without a / is looked for on PATH, one of the plugin's own is ./name"


if __name__ == "__main__":
    main()
