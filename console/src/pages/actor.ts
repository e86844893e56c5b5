/** Who acted, as an audit log names them, from the id that is copied out of it. */

const KINDS: Readonly<Record<string, string>> = {
  user: 'user',
  sa: 'service_account',
  gateway: 'gateway',
  node: 'node',
};

export function actorOf(typed: string): string {
  const kind = KINDS[typed.split('-')[0] ?? ''];
  return kind && !typed.includes(':') && typed.includes('-') ? `${kind}:${typed}` : typed;
}
