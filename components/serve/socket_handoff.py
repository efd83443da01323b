"""Handing over a shared port without losing a connection.

When a listening socket closes, connections that the kernel has completed but nobody has accepted are reset. So the
leaving process first routes new connections to the other one, accepts what is still queued, and then closes.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import sys

# Linux, asm-generic/socket.h: a classic BPF program that picks the socket of a SO_REUSEPORT group, by its place in it.
SO_ATTACH_REUSEPORT_CBPF = 51
SO_DETACH_REUSEPORT_BPF = 68
BPF_RETURN_CONSTANT = 0x06
# The group is in the order of listening, and the last takes the place of one that closes: of two, the older is at 0 and
# the newer at 1. If nothing is at 1, the kernel distributes connections as without a program.
NEWER = 1
# Time to accept connections that are queued, or in a handshake over a slow network.
SECONDS = 0.2


def point_at_newer(listener: socket.socket) -> None:
    """Routes new connections of a shared port to the process that began to listen after this one."""
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(struct.pack("=HBBI", BPF_RETURN_CONSTANT, 0, 0, NEWER))
    attached = struct.pack("@HP", 1, ctypes.addressof(program))
    listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, attached)


def share(listener: socket.socket) -> None:
    """Ends an earlier handoff of the port: its processes share new connections again."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # no handoff, or the port is not shared
            listener.setsockopt(socket.SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, 0)
