"""Programs that a cell of the matrix starts, and what they say."""

import asyncio


class Process:
    """A program whose lines are read as they come."""

    @classmethod
    async def start(cls, *words, environment=None):
        self = cls()
        self.name, self.said, self.errors = str(words[0]).rsplit("/", 1)[-1], [], []
        self.child = await asyncio.create_subprocess_exec(
            *map(str, words), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env=environment, limit=1 << 20)
        self.changed = asyncio.Condition()
        self.readers = [asyncio.ensure_future(self.read(self.child.stdout, self.said)),
                        asyncio.ensure_future(self.read(self.child.stderr, self.errors))]
        return self

    async def read(self, stream, lines):
        while line := await stream.readline():
            async with self.changed:
                lines.append(line.decode().rstrip("\n"))
                self.changed.notify_all()
            self.on_line(lines[-1])
        async with self.changed:
            self.changed.notify_all()

    def on_line(self, line):
        """For those that take each line at once."""

    def over(self):
        return all(reader.done() for reader in self.readers)

    async def until(self, found):
        """Waits until `found(self)` returns something, and returns it."""
        async with self.changed:
            while not (result := found(self)):
                if self.child.returncode is not None or self.child.stdout.at_eof():
                    raise AssertionError(f"{self.name} has ended: {self.tail()}")
                await self.changed.wait()
            return result

    async def status(self):
        await asyncio.gather(*self.readers)
        return await self.child.wait()

    def tail(self):
        return " / ".join((self.errors or self.said)[-4:])

    def terminate(self):
        if self.child.returncode is None:
            self.child.terminate()

    async def end(self):
        """For one that may have failed."""
        if self.child.returncode is None:
            self.child.kill()
        await self.status()
