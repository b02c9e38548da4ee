# This source file is part of the Optimist open source project, under the MIT licence.
"""A load balancer: forwards each new connection to the next healthy server, and polls them all."""

import asyncio
import threading

from phones import free_port


class Balancer:
    """It closes the connections of a server that does not answer, so that clients reconnect to another one."""

    # How often servers are polled, and how long they may take to answer, in seconds.
    INTERVAL = 0.25
    PATIENCE = 2

    def __init__(self, ports):
        self.port = free_port()
        self._ports = list(ports)
        self._living = {port: False for port in ports}
        self._open = {port: set() for port in ports}
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()

    async def _start(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        # The event loop keeps no strong reference to a task.
        self._watches = [asyncio.ensure_future(self._watch(port)) for port in self._ports]

    async def _watch(self, port):
        # Up to Python 3.11, `wait_for` may lose a cancellation.
        while self._server.is_serving():
            try:
                lives = await asyncio.wait_for(self._asks(port), self.PATIENCE)
            except (OSError, TimeoutError, asyncio.TimeoutError):
                lives = False
            self._living[port] = lives
            if not lives:
                for writer in list(self._open[port]):
                    writer.transport.abort()
            await asyncio.sleep(self.INTERVAL)

    async def _asks(self, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b" 200 " in await reader.readline()
        finally:
            writer.transport.abort()

    async def _serve(self, reader, writer):
        """Connects a client to a server until either leaves."""
        for _ in self._ports:
            self._turn += 1
            port = self._ports[self._turn % len(self._ports)]
            if not self._living[port]:
                continue
            try:
                answers, requests = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            self._open[port] |= {writer, requests}
            try:
                await asyncio.gather(self._copy(reader, requests), self._copy(answers, writer))
            finally:
                self._open[port] -= {writer, requests}
            return
        writer.transport.abort()

    async def _copy(self, reader, writer):
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except OSError:
            writer.transport.abort()
        finally:
            writer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        async def stop():
            self._server.close()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
