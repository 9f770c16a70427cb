# SPDX-License-Identifier: Apache-2.0
"""Clients of the page, and what a page costs its browser."""
import os
import socket
import threading
import urllib.parse

ESTABLISHED = "01"  # In /proc/net/tcp.


class Viewer:
    """A client that asks for events, and reads them unless it is to stall."""

    def __init__(self, url, stalls=False):
        address = urllib.parse.urlsplit(url)
        self.socket = socket.socket()
        self.pictures = 0
        if stalls:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect((address.hostname, address.port))
        self.socket.sendall(f"GET /events?{address.query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        if not stalls:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while piece := self.socket.recv(1 << 20):
                self.pictures += piece.count(b"event: picture")
        except OSError:
            pass

    def is_dropped(self):
        """Returns whether the page has closed the connection. A client that does not read can't see that itself."""
        page, own = self.socket.getpeername()[1], self.socket.getsockname()[1]
        with open("/proc/net/tcp", encoding="ascii") as file:
            for line in file.readlines()[1:]:
                local, remote, state = line.split()[1:4]
                if (int(local.split(":")[1], 16), int(remote.split(":")[1], 16)) == (page, own):
                    return state != ESTABLISHED
        return True

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # The page has closed it.
            pass
        self.socket.close()


def descendants(pid):
    """Returns the processes below a process."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:  # It has ended.
            pass
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def renderer_bytes(chrome):
    """Returns the memory of the largest of the browser's processes that have pages: what is its own, not shared."""
    sizes = [0]
    for pid in descendants(chrome.service.process.pid):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                if "--type=renderer" not in file.read():
                    continue
            with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
                sizes.append(sum(1024 * int(line.split()[1]) for line in file if line.startswith("Private_")))
        except OSError:
            pass
    return max(sizes)
