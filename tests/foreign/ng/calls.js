// Calls of a SIP proxy through rtpengine-client: calls.js PORT CALLS. Says "up" when all calls have their answers, and
// ends them after a line on standard input. The client does not repeat a request: after its timeout, this asks again.
const { Client } = require('rtpengine-client');

const TIMEOUT_MS = 1000;
const TRIES_MAX = 60;
const AT_ONCE = 16;

const [port, calls] = process.argv.slice(2).map(Number);
const client = new Client({ timeout: TIMEOUT_MS, localAddress: '127.0.0.1' });
const count = { requests: 0, again: 0, unexpected: 0 };

// A repeated datagram is a reply to a request that has had one.
client.on('error', () => { count.unexpected += 1; });

async function ask(command, fields) {
  for (let tries = 1; ; tries += 1) {
    try {
      const reply = await client[command]({ host: '127.0.0.1', port }, fields);
      count.requests += 1;
      return reply;
    } catch (error) {
      if (tries === TRIES_MAX || !/timeout/.test(error.message)) throw error;
      count.again += 1;
    }
  }
}

function expect(what, condition, reply) {
  if (!condition) throw new Error(`${what}: ${JSON.stringify(reply)}`);
}

function sdp(address, media) {
  return ['v=0', `o=- 1 1 IN IP4 ${address}`, 's=-', `c=IN IP4 ${address}`, 't=0 0',
    `m=audio ${media} RTP/AVP 0`, ''].join('\r\n');
}

async function begin(number) {
  const call = { 'call-id': `call-${number}`, 'from-tag': 'a' };
  const offered = sdp('10.0.0.5', 6000 + 2 * number);
  const offer = await ask('offer', { ...call, sdp: offered });
  expect('offer', offer.result === 'ok' && offer.sdp === offered, offer);
  const answered = sdp('192.0.2.7', 20000 + 2 * number);
  const answer = await ask('answer', { ...call, 'to-tag': 'b', sdp: answered });
  expect('answer', answer.result === 'ok' && answer.sdp === answered, answer);
  const query = await ask('query', { 'call-id': call['call-id'] });
  expect('query', query.result === 'ok' && query.tags.a && query.tags.b, query);
}

async function end(number) {
  const reply = await ask('delete', { 'call-id': `call-${number}`, 'from-tag': 'a' });
  expect('delete', reply.result === 'ok', reply);
}

async function all(step) {
  const numbers = Array.from({ length: calls }, (_, number) => number);
  const some = async () => { while (numbers.length) await step(numbers.shift()); };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
}

async function main() {
  await new Promise((listening) => { client.once('listening', listening); });
  expect('ping', (await ask('ping', {})).result === 'pong');
  await all(begin);
  const list = await ask('list', { limit: calls + 1 });
  expect('list', list.result === 'ok' && list.calls.length === calls, list);
  console.log('up');
  await new Promise((line) => { process.stdin.once('data', line); });
  await all(end);
  const statistics = await ask('statistics', {});
  expect('statistics', statistics.result === 'ok', statistics);
  const after = await ask('list', {});
  expect('list', after.calls.length === 0, after);
  console.log(`done ${count.requests} ${count.again} ${count.unexpected}`);
  process.exit(0);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
