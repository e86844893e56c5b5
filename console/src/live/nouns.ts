/**
 * What an event makes old. The first word of every query's key is the noun
 * that it is about, the same noun that begins an event's subject.
 */

/** Nouns whose answers change with another noun's events. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  allocation: ['capacity', 'balance', 'quota', 'usage', 'budget', 'node'],
  journal: ['balance', 'usage', 'budget', 'invoice', 'revenue'],
  wallet: ['balance'],
  payment: ['balance', 'payment_drift', 'payment_event'],
  refund: ['payment', 'balance'],
  invoice: ['balance'],
  budget: [],
  node: ['capacity', 'allocation'],
  sku: ['capacity', 'price'],
  price: ['sku'],
  member: ['organization', 'invitation'],
  invitation: ['member'],
  key: ['service_account'],
  webhook_delivery: ['webhook'],
  recovery_code: ['mfa_factor'],
  project: ['allocation'],
  quota: ['policy'],
  maintenance_window: ['node'],
  agent_update: ['node'],
  machine: ['node', 'provider'],
  provider: ['machine'],
  pool: ['node'],
  correction: ['journal', 'balance'],
};

export function staleAfter(subject: string): string[] {
  const noun = subject.split('.')[0] ?? subject;
  // What happens is somebody's work; the queue has no events of its own.
  return [...new Set([noun, 'event', 'work', ...(ALSO[noun] ?? [])])];
}
