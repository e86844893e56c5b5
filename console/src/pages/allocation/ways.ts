/** Command lines that lead into an allocation. */

/** `address` is as `known_hosts` writes it: a host, or `[host]:port`. */
export function sshLine(allocation: string, address: string): string {
  const [, host, port] = /^\[(.+)\]:(\d+)$/.exec(address) ?? [];
  return host && port ? `ssh -p ${port} ${allocation}@${host}` : `ssh ${allocation}@${address}`;
}

/** A port that somebody typed; nothing when it is none. */
export function portOf(typed: string): number | undefined {
  const text = typed.trim();
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}
