-- SIMCO (RFC 4540) for Wireshark and tshark: over TCP, TLS, QUIC, and SCTP, encapsulated in UDP or not. See doc/wireshark.md.
local simco = Proto("simco", "Simple Middlebox Configuration (RFC 4540)")
simco.prefs.port = Pref.uint("Port", 7626, "TCP and SCTP port of the middlebox")

local HEADER = 8 -- octets: type, length, TID

-- --- What the RFC defines -----------------------------------------------------------------------------

local BASIC = { [1] = "request", [2] = "positive reply", [3] = "negative reply", [4] = "notification" }

local SUB = { -- of requests and positive replies (4.2.1, 4.2.2), or only of that basic type
  [0x01] = { "SE", "session establishment" },
  [0x02] = { "SA", "session authentication" },
  [0x03] = { "ST", "session termination" },
  [0x11] = { "PRR", "policy reserve rule" },
  [0x12] = { "PER", "policy enable rule" },
  [0x13] = { "PEA", "PER after reservation", only = 1 },
  [0x14] = { "PDR", "policy disable rule" },
  [0x15] = { "PLC", "policy rule lifetime change" },
  [0x16] = { "PRD", "policy rule deletion", only = 2 },
  [0x21] = { "PRS", "policy rule status" },
  [0x22] = { "PRL", "policy rule list" },
  [0x23] = { "PES", "policy enable rule status", only = 2 },
  [0x24] = { "PDS", "policy disable rule status", only = 2 },
}

local NOTIFICATION = { -- 4.2.4
  [0x01] = { "BFM", "bad form" },
  [0x02] = { "AST", "asynchronous session termination" },
  [0x03] = { "ARE", "asynchronous policy rule event" },
}

local REFUSAL = { -- 4.2.3
  [0x10] = "wrong basic request message type",
  [0x11] = "wrong request message sub-type",
  [0x12] = "badly formed request",
  [0x13] = "reply message too big",
  [0x20] = "request not applicable",
  [0x21] = "lack of resources",
  [0x22] = "protocol version mismatch",
  [0x23] = "authentication failed",
  [0x24] = "no authorization",
  [0x25] = "transport protocol problem",
  [0x26] = "security of underlying protocol layers insufficient",
  [0x40] = "transaction not supported",
  [0x41] = "agent not authorized for this transaction",
  [0x42] = "no resources available for this transaction",
  [0x43] = "specified policy rule does not exist",
  [0x44] = "specified policy rule group does not exist",
  [0x45] = "not authorized for accessing specified policy",
  [0x46] = "not authorized for accessing specified group",
  [0x47] = "requested address space not available",
  [0x48] = "lack of IP addresses",
  [0x49] = "lack of port numbers",
  [0x4a] = "middlebox configuration failed",
  [0x4b] = "inconsistent request",
  [0x4c] = "requested wildcarding not supported",
  [0x4d] = "protocol type doesn't match",
  [0x4e] = "NAT mode not supported",
  [0x4f] = "IP version mismatch",
  [0x50] = "conflict with existing rule",
  [0x51] = "not authorized to change lifetime",
  [0x52] = "lifetime can't be extended",
  [0x53] = "illegal IP address",
  [0x54] = "protocol type not supported",
  [0x55] = "illegal port number",
  [0x56] = "illegal number of subsequent ports",
  [0x57] = "already enabled PID",
  [0x58] = "parity doesn't match",
}

local ATTRIBUTE = { -- 4.3
  [0x0001] = "protocol version",
  [0x0002] = "authentication challenge",
  [0x0003] = "authentication token",
  [0x0004] = "middlebox capabilities",
  [0x0005] = "policy rule identifier",
  [0x0006] = "group identifier",
  [0x0007] = "policy rule lifetime",
  [0x0008] = "policy rule owner",
  [0x0009] = "address tuple",
  [0x000a] = "PRR parameter set",
  [0x000b] = "PER parameter set",
}

local FORM = { [0] = "full address", [1] = "protocols only" }
local IP = { [1] = "IPv4", [2] = "IPv6" }
local VERSIONS = { [1] = "IPv4", [2] = "IPv6", [3] = "IPv4 and IPv6" }
local REQUESTED_IP = { [0] = "any", [1] = "IPv4", [2] = "IPv6" }
local LOCATION = { [0] = "internal (A0)", [1] = "inside (A1)", [2] = "outside (A2)", [3] = "external (A3)" }
local NAT_MODE = { [1] = "traditional", [2] = "twice" }
local RESERVED_PARITY = { [0] = "any", [1] = "odd", [2] = "even" }
local PARITY = { [0] = "any", [3] = "same" }
local DIRECTION = { [1] = "inbound", [2] = "outbound", [3] = "bidirectional" }
local PROTOCOL = { [0] = "any", [1] = "ICMP", [6] = "TCP", [17] = "UDP", [33] = "DCCP", [58] = "ICMPv6",
  [132] = "SCTP", [136] = "UDP-Lite" }

-- --- Fields -------------------------------------------------------------------------------------------

local f = {
  basic = ProtoField.uint8("simco.basic_type", "Basic type", base.HEX, BASIC),
  sub = ProtoField.uint8("simco.sub_type", "Sub-type", base.HEX),
  name = ProtoField.string("simco.message", "Message"),
  length = ProtoField.uint16("simco.length", "Length"),
  tid = ProtoField.uint32("simco.tid", "Transaction identifier"),
  attribute = ProtoField.uint16("simco.attribute", "Attribute", base.HEX, ATTRIBUTE),
  attribute_length = ProtoField.uint16("simco.attribute.length", "Attribute length"),
  major = ProtoField.uint8("simco.version.major", "Major version"),
  minor = ProtoField.uint8("simco.version.minor", "Minor version"),
  challenge = ProtoField.bytes("simco.challenge", "Challenge"),
  token = ProtoField.bytes("simco.token", "Token"),
  packet_filter = ProtoField.bool("simco.capabilities.packet_filter", "Packet filter", 8, nil, 0x80),
  nat = ProtoField.bool("simco.capabilities.nat", "NAT", 8, nil, 0x40),
  disable_rules = ProtoField.bool("simco.capabilities.disable_rules", "Disable rules", 8, nil, 0x10),
  twice_nat = ProtoField.bool("simco.capabilities.twice_nat", "Twice NAT", 8, nil, 0x04),
  protocol_translation = ProtoField.bool("simco.capabilities.protocol_translation", "Protocol translation", 8, nil, 0x02),
  port_translation = ProtoField.bool("simco.capabilities.port_translation", "Port translation", 8, nil, 0x01),
  internal_wildcards = ProtoField.bool("simco.capabilities.internal_wildcards", "Internal address wildcards", 8, nil, 0x80),
  external_wildcards = ProtoField.bool("simco.capabilities.external_wildcards", "External address wildcards", 8, nil, 0x40),
  port_wildcards = ProtoField.bool("simco.capabilities.port_wildcards", "Port wildcards", 8, nil, 0x20),
  persistent = ProtoField.bool("simco.capabilities.persistent", "Persistent rules", 8, nil, 0x10),
  internal_versions = ProtoField.uint8("simco.capabilities.internal_versions", "Internal IP versions", base.DEC, VERSIONS, 0x0c),
  external_versions = ProtoField.uint8("simco.capabilities.external_versions", "External IP versions", base.DEC, VERSIONS, 0x03),
  lifetime_max = ProtoField.uint32("simco.capabilities.lifetime_max", "Longest lifetime (s)"),
  pid = ProtoField.uint32("simco.pid", "Policy rule identifier (PID)"),
  gid = ProtoField.uint32("simco.gid", "Group identifier (GID)"),
  lifetime = ProtoField.uint32("simco.lifetime", "Lifetime (s)"),
  owner = ProtoField.string("simco.owner", "Owner"),
  form = ProtoField.uint8("simco.tuple.form", "Form", base.DEC, FORM, 0xf0),
  ip_version = ProtoField.uint8("simco.tuple.ip_version", "IP version", base.DEC, IP, 0x0f),
  prefix_length = ProtoField.uint8("simco.tuple.prefix_length", "Prefix length"),
  protocol = ProtoField.uint8("simco.tuple.protocol", "Transport protocol", base.DEC, PROTOCOL),
  location = ProtoField.uint8("simco.tuple.location", "Location", base.DEC, LOCATION),
  port = ProtoField.uint16("simco.tuple.port", "Port"),
  port_range = ProtoField.uint16("simco.tuple.port_range", "Port range"),
  ipv4 = ProtoField.ipv4("simco.tuple.ipv4", "Address"),
  ipv6 = ProtoField.ipv6("simco.tuple.ipv6", "Address"),
  nat_mode = ProtoField.uint8("simco.prr.nat_mode", "NAT mode", base.DEC, NAT_MODE, 0xc0),
  reserved_parity = ProtoField.uint8("simco.prr.parity", "Port parity", base.DEC, RESERVED_PARITY, 0x30),
  inside_ip = ProtoField.uint8("simco.prr.inside_ip_version", "Inside IP version", base.DEC, REQUESTED_IP, 0x0c),
  outside_ip = ProtoField.uint8("simco.prr.outside_ip_version", "Outside IP version", base.DEC, REQUESTED_IP, 0x03),
  prr_protocol = ProtoField.uint8("simco.prr.protocol", "Transport protocol", base.DEC, PROTOCOL),
  prr_ports = ProtoField.uint16("simco.prr.port_range", "Port range"),
  parity = ProtoField.uint8("simco.per.parity", "Port parity", base.DEC, PARITY),
  direction = ProtoField.uint8("simco.per.direction", "Direction", base.DEC, DIRECTION),
  value = ProtoField.bytes("simco.value", "Value"),
  request_in = ProtoField.framenum("simco.request_in", "Request in", base.NONE, frametype.REQUEST),
  reply_in = ProtoField.framenum("simco.reply_in", "Reply in", base.NONE, frametype.RESPONSE),
  time = ProtoField.relative_time("simco.time", "Response time"),
}
local fields = {}
for _, field in pairs(f) do table.insert(fields, field) end
simco.fields = fields

local e = {
  malformed = ProtoExpert.new("simco.malformed", "Not as RFC 4540 has it", expert.group.MALFORMED, expert.severity.ERROR),
  refused = ProtoExpert.new("simco.refused", "Refused", expert.group.RESPONSE_CODE, expert.severity.NOTE),
}
simco.experts = { e.malformed, e.refused }

-- --- Attributes ---------------------------------------------------------------------------------------

local function number(field)
  return function(tvb, tree)
    if tvb:len() ~= 4 then return nil end
    tree:add(field, tvb(0, 4))
    return tostring(tvb(0, 4):uint())
  end
end

local function octets(field)
  return function(tvb, tree)
    if tvb:len() > 0 then tree:add(field, tvb()) end
    return tvb:len() .. " octets"
  end
end

local function tuple(tvb, tree)
  if tvb:len() < 4 then return nil end
  local form, version = tvb(0, 1):bitfield(0, 4), tvb(0, 1):bitfield(4, 4)
  tree:add(f.form, tvb(0, 1))
  tree:add(f.ip_version, tvb(0, 1))
  tree:add(f.prefix_length, tvb(1, 1))
  tree:add(f.protocol, tvb(2, 1))
  tree:add(f.location, tvb(3, 1))
  local protocol = tvb(2, 1):uint()
  local text = (LOCATION[tvb(3, 1):uint()] or "?") .. " " .. (PROTOCOL[protocol] or tostring(protocol))
  if form == 1 then return tvb:len() == 4 and text or nil end
  if tvb:len() ~= (version == 1 and 12 or 24) then return nil end
  tree:add(f.port, tvb(4, 2))
  tree:add(f.port_range, tvb(6, 2))
  local address
  if version == 1 then
    tree:add(f.ipv4, tvb(8, 4))
    address = tostring(tvb(8, 4):ipv4())
  else
    tree:add(f.ipv6, tvb(8, 16))
    address = "[" .. tostring(tvb(8, 16):ipv6()) .. "]"
  end
  local length = tvb(1, 1):uint()
  if length < (version == 1 and 32 or 128) then address = address .. "/" .. length end
  return text .. " " .. address .. ":" .. tvb(4, 2):uint() .. "/" .. tvb(6, 2):uint()
end

local VALUE = {
  [0x0001] = function(tvb, tree)
    if tvb:len() ~= 4 then return nil end
    tree:add(f.major, tvb(0, 1))
    tree:add(f.minor, tvb(1, 1))
    return tvb(0, 1):uint() .. "." .. tvb(1, 1):uint()
  end,
  [0x0002] = octets(f.challenge),
  [0x0003] = octets(f.token),
  [0x0004] = function(tvb, tree)
    if tvb:len() ~= 8 then return nil end
    for _, field in ipairs({ f.packet_filter, f.nat, f.disable_rules, f.twice_nat, f.protocol_translation,
      f.port_translation }) do
      tree:add(field, tvb(0, 1))
    end
    for _, field in ipairs({ f.internal_wildcards, f.external_wildcards, f.port_wildcards, f.persistent,
      f.internal_versions, f.external_versions }) do
      tree:add(field, tvb(1, 1))
    end
    tree:add(f.lifetime_max, tvb(4, 4))
    return ""
  end,
  [0x0005] = number(f.pid),
  [0x0006] = number(f.gid),
  [0x0007] = number(f.lifetime),
  [0x0008] = function(tvb, tree)
    if tvb:len() == 0 then return "" end
    tree:add(f.owner, tvb())
    return tvb():string()
  end,
  [0x0009] = tuple,
  [0x000a] = function(tvb, tree)
    if tvb:len() ~= 4 then return nil end
    for _, field in ipairs({ f.nat_mode, f.reserved_parity, f.inside_ip, f.outside_ip }) do
      tree:add(field, tvb(0, 1))
    end
    tree:add(f.prr_protocol, tvb(1, 1))
    tree:add(f.prr_ports, tvb(2, 2))
    return ""
  end,
  [0x000b] = function(tvb, tree)
    if tvb:len() ~= 4 then return nil end
    tree:add(f.parity, tvb(0, 1))
    tree:add(f.direction, tvb(1, 1))
    return DIRECTION[tvb(1, 1):uint()] or "?"
  end,
}

-- Returns where the next attribute begins, or nothing if this one is incomplete.
local function dissect_attribute(tvb, offset, tree)
  if tvb:len() - offset < 4 then
    tree:add_proto_expert_info(e.malformed, "The message ends inside an attribute's header")
    return nil
  end
  local kind, length = tvb(offset, 2):uint(), tvb(offset + 2, 2):uint()
  if tvb:len() - offset - 4 < length then
    tree:add_proto_expert_info(e.malformed, "The message ends inside an attribute")
    return nil
  end
  local whole = 4 + length -- attributes follow each other without padding
  local branch = tree:add(simco, tvb(offset, whole), ATTRIBUTE[kind] or string.format("attribute 0x%04x", kind))
  branch:add(f.attribute, tvb(offset, 2))
  branch:add(f.attribute_length, tvb(offset + 2, 2))
  local value = length > 0 and tvb(offset + 4, length):tvb() or ByteArray.new():tvb("empty")
  local read = VALUE[kind]
  local text = read and read(value, branch)
  if read == nil then
    if length > 0 then branch:add(f.value, tvb(offset + 4, length)) end
    branch:add_proto_expert_info(e.malformed, "RFC 4540 has no such attribute")
  elseif text == nil then
    branch:add_proto_expert_info(e.malformed, "Not a length for this attribute")
  elseif text ~= "" then
    branch:append_text(": " .. text)
  end
  return offset + whole
end

-- --- Messages -----------------------------------------------------------------------------------------

-- The names of a message, short and in full.
local function describe(basic, sub)
  if basic == 3 then
    return string.format("refused: 0x03%02x %s", sub, REFUSAL[sub] or "undefined"), REFUSAL[sub]
  end
  local names = basic == 4 and NOTIFICATION or SUB
  local entry = names[sub]
  local known = entry and BASIC[basic] and (entry.only or basic) == basic
  if not known then return string.format("0x%02x%02x", basic, sub), nil end
  return entry[1] .. " " .. BASIC[basic], entry[2]
end

-- The newest request of each conversation and TID, and what each frame has to do with one: a table with the frames of
-- the request and of its reply, and the time of the former.
local newest, transactions = {}, {}
function simco.init() newest, transactions = {}, {} end

-- A request that is sent again, by the agent or by QUIC, is the same one until there is a reply.
local function note_transaction(pinfo, basic, tid, tree)
  if basic == 4 then return end
  local ends = { tostring(pinfo.src) .. "#" .. pinfo.src_port, tostring(pinfo.dst) .. "#" .. pinfo.dst_port }
  table.sort(ends)
  local key = ends[1] .. " " .. ends[2] .. " " .. tid
  local here = key .. " " .. pinfo.number
  if not pinfo.visited then
    if basic == 1 and (not newest[key] or newest[key].reply) then
      newest[key] = { request = pinfo.number, time = pinfo.rel_ts }
    elseif basic ~= 1 and newest[key] and not newest[key].reply then
      newest[key].reply = pinfo.number
    end
    transactions[here] = newest[key]
  end
  local found = transactions[here]
  if not found then return end
  if basic == 1 then
    if found.reply then tree:add(f.reply_in, found.reply):set_generated() end
    return
  end
  tree:add(f.request_in, found.request):set_generated()
  tree:add(f.time, NSTime.new(0, math.floor((pinfo.rel_ts - found.time) * 1e9 + 0.5))):set_generated()
end

local function dissect_message(tvb, pinfo, root)
  local basic, sub, tid = tvb(0, 1):uint(), tvb(1, 1):uint(), tvb(4, 4):uint()
  local line, in_full = describe(basic, sub)
  local tree = root:add(simco, tvb(), "SIMCO, " .. line .. ", TID " .. tid)
  tree:add(f.basic, tvb(0, 1))
  local kind = tree:add(f.sub, tvb(1, 1))
  if in_full then kind:append_text(" (" .. in_full .. ")") end
  tree:add(f.name, tvb(0, 2), line):set_generated()
  tree:add(f.length, tvb(2, 2))
  tree:add(f.tid, tvb(4, 4))
  if not in_full then tree:add_proto_expert_info(e.malformed, "RFC 4540 has no such message") end
  if basic == 3 then tree:add_proto_expert_info(e.refused, line) end
  note_transaction(pinfo, basic, tid, tree)
  local offset = HEADER
  while offset and offset < tvb:len() do offset = dissect_attribute(tvb, offset, tree) end
  pinfo.cols.protocol = "SIMCO"
  pinfo.cols.info:append((tostring(pinfo.cols.info) ~= "" and ", " or "") .. line .. " " .. tid)
  return tvb:len()
end

local function length_of(tvb, _, offset) return tvb(offset + 2, 2):uint() + HEADER end

-- A stream of octets: messages where they begin, several in a segment or one in several. A packet may bring parts
-- of several streams: what the line says of one stays when the next one comes.
local function dissect_stream(tvb, pinfo, tree)
  if tvb:len() == 0 then return 0 end -- QUIC: only the end of the stream
  pinfo.cols.info = ""
  dissect_tcp_pdus(tvb, tree, HEADER, length_of, dissect_message)
  pinfo.cols.info:fence()
  return tvb:len()
end

-- SCTP keeps messages apart: one is what a DATA chunk brings, in fragments or not (4.1).
local function dissect_datagram(tvb, pinfo, tree)
  if tvb:len() < HEADER or length_of(tvb, pinfo, 0) ~= tvb:len() then
    tree:add(simco, tvb(), "SIMCO"):add_proto_expert_info(e.malformed, "Length of the message and of its octets differ")
    return tvb:len()
  end
  pinfo.cols.info = ""
  return dissect_message(tvb, pinfo, tree)
end

local SCTP_PORT = 1 -- a value of port_type
local TLS = Dissector.get("tls")

-- TLS on the same port: its records begin with octets from 0x14 on (RFC 8446 5.1), messages with 0x01 to 0x04. It
-- comes back here with what it has decrypted.
local function begins_record(tvb)
  return tvb:len() > 0 and tvb(0, 1):uint() >= 0x14 and tvb(0, 1):uint() <= 0x17
end

function simco.dissector(tvb, pinfo, tree)
  if pinfo.port_type == SCTP_PORT then return dissect_datagram(tvb, pinfo, tree) end
  if begins_record(tvb) then return TLS:call(tvb, pinfo, tree) end
  return dissect_stream(tvb, pinfo, tree)
end

-- --- Where it is found --------------------------------------------------------------------------------

-- IANA has registered payload protocol identifier 15 for SIMCO: over SCTP, at any port.
local PAYLOAD_PROTOCOL = 15
DissectorTable.get("sctp.ppi"):add(PAYLOAD_PROTOCOL, simco)
-- Over QUIC, both ends agree on this name (ALPN).
DissectorTable.get("quic.proto"):add("simco", simco)

local TABLES = { "tcp.port", "sctp.port", "tls.port" }
local port
local function register()
  for _, name in ipairs(TABLES) do
    local found = DissectorTable.get(name)
    if port then found:remove(port, simco) end
    found:add(simco.prefs.port, simco)
  end
  port = simco.prefs.port
end
register()
function simco.prefs_changed() register() end
