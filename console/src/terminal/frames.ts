/** What travels to a gateway and back: a byte that says what it is, a length, and that. */

export type Closing =
  | 'taken_over'
  | 'time_limit'
  | 'idle'
  | 'allocation_ended'
  | 'ended'
  | 'bad_frame'
  | 'going_away'
  | 'host_gone'
  | 'unrecorded';

export type Heard =
  | { kind: 'opened'; offset: number; resumed: boolean }
  | { kind: 'output'; offset: number; bytes: Uint8Array }
  /** What makes an empty terminal look like the shell's; it is not output. */
  | { kind: 'screen'; offset: number; bytes: Uint8Array }
  | { kind: 'exit'; code: number; signal?: string | undefined }
  | { kind: 'close'; closing: Closing }
  | { kind: 'notice'; text: string }
  /** Of a kind that this page does not know or need. */
  | { kind: 'other' };

const INPUT = 1;
const RESIZE = 2;
const HANGUP = 5;
const PING = 6;
const HEAD = 5;
// bound: the gateway refuses larger frames; what is pasted goes in pieces
const MOST_DATA = 64 * 1024;

function frame(kind: number, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEAD + body.length);
  bytes[0] = kind;
  new DataView(bytes.buffer).setUint32(1, body.length);
  bytes.set(body, HEAD);
  return bytes;
}

/** What was typed, in as many frames as it takes. */
export function input(bytes: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < bytes.length; at += MOST_DATA) {
    frames.push(frame(INPUT, bytes.subarray(at, at + MOST_DATA)));
  }
  return frames;
}

export function resize(columns: number, rows: number): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(4);
  new DataView(body.buffer).setUint16(0, columns);
  new DataView(body.buffer).setUint16(2, rows);
  return frame(RESIZE, body);
}

export const hangup = (): Uint8Array<ArrayBuffer> => frame(HANGUP, new Uint8Array());
export const ping = (): Uint8Array<ArrayBuffer> => frame(PING, new Uint8Array());

/** Reads one message. Nonsense throws: the other side speaks something else. */
export function read(message: ArrayBuffer): Heard {
  const view = new DataView(message);
  const body = new Uint8Array(message, HEAD);
  if (view.getUint32(1) !== body.length) throw new Error('a frame has another length than it says');
  const text = () => new TextDecoder().decode(body);
  switch (view.getUint8(0)) {
    case 16: {
      const { offset, resumed } = JSON.parse(text()) as { offset: number; resumed: boolean };
      return { kind: 'opened', offset, resumed };
    }
    case 17:
    case 18:
      return {
        kind: view.getUint8(0) === 17 ? 'output' : 'screen',
        offset: Number(view.getBigUint64(HEAD)),
        bytes: body.subarray(8),
      };
    case 20: {
      const { code, signal } = JSON.parse(text()) as { code: number; signal?: string };
      return { kind: 'exit', code, signal };
    }
    case 21:
      return { kind: 'close', closing: JSON.parse(text()) as Closing };
    case 22:
      return { kind: 'notice', text: text() };
    default:
      return { kind: 'other' };
  }
}

/** What of an output was not shown before. */
export function unseen(seen: number | undefined, offset: number, bytes: Uint8Array): Uint8Array {
  return bytes.subarray(Math.min(bytes.length, Math.max(0, (seen ?? offset) - offset)));
}
