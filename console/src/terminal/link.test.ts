import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ProblemBody, ProblemError } from '@/api/problem';
import { Link } from './link';

/** The gateway's end of a socket, as a test plays it. */
class Socket {
  static readonly OPEN = 1;
  readyState = 1;
  binaryType = '';
  sent: Uint8Array[] = [];
  onmessage: ((event: { data: ArrayBuffer }) => void) | undefined;
  onclose: ((event: { code: number; reason: string }) => void) | undefined;

  constructor(readonly protocols: string[]) {}

  send(bytes: Uint8Array) {
    this.sent.push(bytes);
  }

  close() {
    this.readyState = 3;
  }

  say(kind: number, body: Uint8Array) {
    const bytes = new Uint8Array(5 + body.length);
    bytes[0] = kind;
    new DataView(bytes.buffer).setUint32(1, body.length);
    bytes.set(body, 5);
    this.onmessage?.({ data: bytes.buffer });
  }

  opened() {
    this.say(16, text('{"offset":0,"resumed":false,"size":{"columns":80,"rows":24}}'));
  }

  output(offset: number, words: string, kind = 17) {
    const body = new Uint8Array(8 + words.length);
    new DataView(body.buffer).setBigUint64(0, BigInt(offset));
    body.set(text(words), 8);
    this.say(kind, body);
  }

  leave(code: number, reason = '') {
    this.onclose?.({ code, reason });
  }
}

const text = (value: string) => new TextEncoder().encode(value);

function begin(
  ticket = vi.fn(async () => ({ ticket: 't-1', url: 'ws://gw', session_id: 'access-1' })),
  named: (session: string) => void = () => undefined,
) {
  const sockets: Socket[] = [];
  let shown = '';
  const link = new Link({
    ticket,
    size: () => ({ columns: 80, rows: 24 }),
    show: (bytes, isWhole, done) => {
      shown = (isWhole ? '' : shown) + new TextDecoder().decode(bytes);
      done();
    },
    notice: () => undefined,
    named,
    open: (_, protocols) => {
      const socket = new Socket(protocols);
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
  });
  link.start();
  return { link, ticket, sockets, last: () => sockets.at(-1) as Socket, shown: () => shown };
}

const settle = () => vi.advanceTimersByTimeAsync(20_000);

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('window', new EventTarget());
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('WebSocket', Socket);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('connection that breaks resumes where it stopped', async () => {
  const { link, ticket, last, shown } = begin();
  await vi.advanceTimersByTimeAsync(0);
  expect(last().protocols).toEqual(['gpuaas.v1', 'gpuaas.ticket.t-1', 'gpuaas.size.80x24']);
  last().opened();
  last().output(0, 'abc');
  last().leave(1006);
  expect(link.state.get()).toEqual({ at: 'away', tries: 0 });
  await settle();
  expect(ticket).toHaveBeenLastCalledWith('access-1');
  expect(last().protocols).toContain('gpuaas.seen.3');
  last().opened();
  last().output(1, 'bcdef');
  expect(shown()).toBe('abcdef');
  expect(link.state.get()).toEqual({ at: 'open' });
});

test('shell that never started is not resumed: a new one is opened', async () => {
  const named = vi.fn();
  const { link, ticket, last } = begin(undefined, named);
  await vi.advanceTimersByTimeAsync(0);
  last().leave(4404, 'the host cannot be reached; try again in a moment');
  expect(link.state.get()).toEqual({ at: 'away', tries: 0 });
  await settle();
  expect(ticket).toHaveBeenCalledTimes(2);
  expect(ticket).toHaveBeenLastCalledWith(undefined);
  expect(named).not.toHaveBeenCalled();
  last().opened();
  expect(link.state.get()).toEqual({ at: 'open' });
  expect(named).toHaveBeenCalledExactlyOnceWith('access-1');
});

test('client that was disconnected for long receives a screen snapshot', async () => {
  const { last, shown } = begin();
  await vi.advanceTimersByTimeAsync(0);
  last().opened();
  last().output(0, 'old');
  last().leave(4503);
  await settle();
  last().opened();
  last().output(900, 'the screen', 18);
  last().output(900, '!');
  expect(shown()).toBe('the screen!');
});

test('shell that ended or was taken over is not resumed', async () => {
  const { link, sockets, last } = begin();
  await vi.advanceTimersByTimeAsync(0);
  last().opened();
  last().say(20, text('{"code":3}'));
  last().leave(1000);
  expect(link.state.get()).toEqual({ at: 'over', end: 'exit', code: 3 });
  await link.renew();
  last().opened();
  last().leave(4409, 'the session was taken over from elsewhere');
  expect(link.state.get()).toMatchObject({ at: 'over', end: 'taken_over' });
  await settle();
  expect(sockets.length).toBe(2);
});

test('new shell does not claim output of the old one', async () => {
  const { link, ticket, last } = begin();
  await vi.advanceTimersByTimeAsync(0);
  last().opened();
  last().output(0, 'abc');
  last().leave(4410);
  await link.renew();
  expect(ticket).toHaveBeenLastCalledWith(undefined);
  expect(last().protocols.join()).not.toContain('seen');
});

test('shell that ended while detached is reported', async () => {
  const gone = new ProblemError({
    title: 'Conflict',
    status: 409,
    code: 'conflict',
    detail: 'the session has ended; open a new one',
    advice: '',
    correlation_id: 'c',
  });
  const ticket = vi.fn(async () => ({ ticket: 't', url: 'ws://gw', session_id: 'access-1' }));
  const { link, last } = begin(ticket);
  await vi.advanceTimersByTimeAsync(0);
  last().opened();
  ticket.mockRejectedValue(gone);
  last().leave(1006);
  await settle();
  expect(link.state.get()).toMatchObject({ at: 'over', end: 'ended', error: gone });
});

test('retries of an unreachable gateway are bounded', async () => {
  const { link, ticket, last, sockets } = begin();
  await vi.advanceTimersByTimeAsync(0);
  for (let round = 0; round < 200 && link.state.get().at !== 'over'; round += 1) {
    last().leave(1006);
    await settle();
  }
  expect(link.state.get()).toMatchObject({ at: 'over', end: 'lost' });
  expect(sockets.length).toBe(121);
  expect(ticket).toHaveBeenCalledTimes(121);
});

test('ticket that is throttled is requested again', async () => {
  const problem = { status: 429, title: 'Too many requests', code: 'too_many_requests' } as ProblemBody;
  const ticket = vi.fn(async () => ({ ticket: 't-1', url: 'ws://gw', session_id: 'access-1' }));
  ticket.mockRejectedValueOnce(new ProblemError(problem));
  const { link, last } = begin(ticket);
  await vi.advanceTimersByTimeAsync(0);
  expect(link.state.get()).toEqual({ at: 'away', tries: 0 });
  await settle();
  last().opened();
  expect(link.state.get()).toEqual({ at: 'open' });
});

test('connection closed by the user is not reopened', async () => {
  const { link, last, sockets } = begin();
  await vi.advanceTimersByTimeAsync(0);
  last().opened();
  link.stop();
  last().leave(1006);
  await settle();
  expect(sockets.length).toBe(1);
});

test('input is sent to the shell, also while it opens, and dropped without a shell', async () => {
  const { link, last } = begin();
  link.type(text('early '));
  await vi.advanceTimersByTimeAsync(0);
  link.type(text('id\n'));
  expect(last().sent).toEqual([]);
  last().opened();
  link.type(text('now\n'));
  link.resize(120, 40);
  const sent = last().sent.map((it) => [it[0], new TextDecoder().decode(it.slice(5))]);
  expect(sent.slice(0, 3)).toEqual([
    [1, 'early '],
    [1, 'id\n'],
    [1, 'now\n'],
  ]);
  expect(sent[3]?.[0]).toBe(2);
  last().leave(1006);
  link.type(text('lost'));
  await settle();
  last().opened();
  expect(last().sent).toEqual([]);
});
