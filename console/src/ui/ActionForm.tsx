import type { ReactNode } from 'react';
import { useAct } from './act';
import { Button } from './Button';
import { Failure } from './Feedback';

/** A form that does one thing: its fields, how it failed, and the button that submits it. */
export function ActionForm({
  label,
  work,
  onDone,
  kind,
  isWide,
  beside,
  children,
}: {
  label: string;
  work: () => Promise<unknown>;
  /** Called once the work succeeded. */
  onDone: () => unknown;
  kind?: 'primary';
  isWide?: boolean;
  /** Below the button. */
  beside?: ReactNode;
  children: ReactNode;
}) {
  const { busy, error, act } = useAct();
  const submit = async () => {
    if (await act(work)) await onDone();
  };
  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {children}
      {error !== undefined && <Failure error={error} />}
      <Button type="submit" kind={kind} busy={busy} className={isWide ? 'w-full' : undefined}>
        {label}
      </Button>
      {beside}
    </form>
  );
}
