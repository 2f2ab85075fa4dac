"""A foreign middlebox's part, as small as our agents allow: it grants every rule, and enforces none."""

import asyncio

from agent_side import attribute, value

CAPABILITIES = attribute("middlebox capabilities", middlebox_type=["packet filter"], flags=[], internal_ip_versions=3,
                         external_ip_versions=3, max_lifetime=3600)


def at(message, location):
    return next(one for one in message["attributes"] if one.get("location") == location)


class Middlebox:
    def __init__(self, peer):
        self.peer, self.sessions, self.rules = peer, [], {}
        self.tasks, self.opened = [], asyncio.Condition()
        self.requests = self.notifications = self.next_pid = 0
        self.accepting = asyncio.ensure_future(self.accept())

    async def accept(self):
        while True:
            if connection := await self.peer.opened.get():
                self.tasks.append(asyncio.ensure_future(self.serve(connection)))

    async def has_sessions(self, count):
        async with self.opened:
            await self.opened.wait_for(lambda: len(self.sessions) >= count)

    async def serve(self, connection):
        while request := await connection.arrived.get():
            self.requests += 1
            name = request["message"].removesuffix(" request")
            reply, attributes = getattr(self, f"on_{name.lower()}")(connection, request)
            connection.send({"message": f"{reply} positive reply", "tid": request["tid"], "attributes": attributes})
            if name == "SE":
                await self.add(connection)
            if name == "ST":  # requests that arrive behind it are ignored (RFC 4540 7.4)
                self.sessions.remove(connection)
                connection.close()
                return

    async def add(self, connection):
        connection.next_notification = 0
        self.sessions.append(connection)
        async with self.opened:
            self.opened.notify_all()

    def on_se(self, _, request):
        return "SE", [CAPABILITIES]

    def on_st(self, _, request):
        return "ST", []

    def on_per(self, connection, request):
        self.next_pid += 1
        names = [attribute(f"{name} identifier", value=self.next_pid) for name in ("policy rule", "group")]
        lifetime = attribute("policy rule lifetime", value=value(request, "policy rule lifetime"))
        outside = {**at(request, "internal"), "location": "outside"}
        self.rules[self.next_pid] = names + [request["attributes"][0], at(request, "internal"),
                                             {**at(request, "external"), "location": "inside"}, outside,
                                             at(request, "external"), lifetime,
                                             attribute("policy rule owner", value="foreign")]
        self.tell(connection, names[0], lifetime)
        return "PER", [*names, lifetime, outside]

    def on_plc(self, connection, request):
        pid, lifetime = request["attributes"]
        self.tell(connection, pid, lifetime)
        if lifetime["value"] == 0:
            del self.rules[pid["value"]]
            return "PRD", []
        return "PLC", [lifetime]

    def on_prs(self, _, request):
        return "PES", self.rules[value(request, "policy rule identifier")]

    def on_prl(self, _, request):
        return "PRL", [attribute("policy rule identifier", value=pid) for pid in self.rules]

    def tell(self, but, *attributes):
        for session in self.sessions:
            if session is not but:
                self.notify(session, "ARE", attributes)
                self.notifications += 1

    def notify(self, session, name, attributes=()):
        session.send({"message": f"{name} notification", "tid": session.next_notification,
                      "attributes": list(attributes)})
        session.next_notification += 1

    def end(self):
        """AST to all; the connections end (RFC 4540 7.5)."""
        for session in self.sessions:
            self.notify(session, "AST")
            session.close()

    def check(self):
        for task in [self.accepting, *self.tasks]:
            if task.done():
                task.result()

    def close(self):
        for task in [self.accepting, *self.tasks]:
            task.cancel()
