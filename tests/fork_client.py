"""Stand for Python in a shell script: ``python -IS fork_client.py SOCKET -m MODULE ...`` runs in the server of `tests.fork_server` that listens there.

Nothing is imported but what is built in, so that this takes 10 ms. The run gets the streams, the working directory, the environment, the umask
and the limits that the client has, and the client ends as the run does.
"""

import _socket
import marshal
import os
import resource
import signal
import struct
import sys

NUMBER = struct.Struct("=q")
LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


def received(connection: _socket.socket) -> int:
    """Return the next number that the server sends."""
    content = connection.recv(NUMBER.size, _socket.MSG_WAITALL)
    if len(content) != NUMBER.size:
        sys.exit(98)
    return int(NUMBER.unpack(content)[0])


def is_open(number: int) -> bool:
    """Return whether this is the number of an open file."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def main() -> None:
    """Send the request, wait, and end as the run did."""
    closed = []
    for number in range(3):
        if not is_open(number):
            closed.append(number)
            os.open(os.devnull, os.O_RDWR)  # gets the number that is free
    further = [
        number for number in range(3, 256) if is_open(number)
    ]  # as bash opens them for <(...)
    mask = os.umask(0)
    os.umask(mask)
    request = marshal.dumps(
        {
            "program": sys.argv[2:],
            "cwd": os.getcwdb(),
            "env": dict(os.environ),
            "limits": {},
            "session": False,
            "stopped": False,
            "umask": mask,
            "further": further,
            "closed": closed,
            "inherited": [(limit, *resource.getrlimit(limit)) for limit in LIMITS],
        }
    )
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(sys.argv[1])
    descriptors = struct.pack(f"={3 + len(further)}i", 0, 1, 2, *further)
    connection.sendmsg(
        [NUMBER.pack(len(request))], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)]
    )
    while request:
        request = request[connection.send(request) :]
    for number in (0, 1, 2, *further):
        os.close(number)
    number = received(connection)
    for which in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(which, lambda which, _: os.kill(number, which))
    status = received(connection)
    if status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
