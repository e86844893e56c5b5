/** Dialogs are the browser's own: it keeps the focus inside and Escape closes them. */

import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { common } from '@/strings';
import { Button } from './Button';
import { Failure } from './Feedback';
import { Input } from './Form';
import { Icon } from './Icon';
import { Command } from './Values';

interface Props {
  title: string;
  lead?: ReactNode;
  onClose: () => void;
  children: ReactNode;
  /** A dialog that only its own buttons close. */
  isFirm?: boolean;
}

export function Dialog({ title, lead, onClose, children, isFirm }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) {
      dialog.showModal();
      // Typing can begin at once; the browser would choose the button that closes.
      dialog.querySelector<HTMLElement>('input, select, textarea')?.focus();
    }
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        if (!isFirm) onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current && !isFirm) onClose();
      }}
      className="m-auto w-[calc(100%-2rem)] max-w-lg rounded-xl border bg-surface p-0 text-ink shadow-high"
    >
      <div className="p-5">
        <header className="mb-4 flex items-start gap-3">
          <div className="grow">
            <h2 id={id} className="text-lg font-semibold">
              {title}
            </h2>
            {lead && <div className="mt-0.5 text-soft">{lead}</div>}
          </div>
          {!isFirm && (
            <button
              type="button"
              aria-label={common.close}
              onClick={onClose}
              className="grid size-8 place-items-center rounded-md text-faint hover:bg-hover hover:text-ink"
            >
              <Icon name="close" />
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  );
}

export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="mt-5 flex flex-wrap justify-end gap-2">{children}</div>;
}

interface ConfirmProps {
  title: string;
  /** What will happen, spelled out. */
  lead: ReactNode;
  /** Typed by hand before anything is destroyed. */
  name?: string;
  action: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}

export function Confirm({ title, lead, name, action, onConfirm, onClose }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const submit = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} lead={lead} onClose={onClose}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {name !== undefined && (
          <Input
            label={common.typeToConfirm(name)}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
        )}
        {error !== undefined && <Failure error={error} />}
        <DialogActions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" kind="danger" busy={busy} disabled={name !== undefined && typed !== name}>
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** A secret, once: only saying that it was kept closes this. */
export function SecretOnce({
  title,
  secret,
  onClose,
}: {
  title: string;
  secret: string;
  onClose: () => void;
}) {
  return (
    <Dialog title={title} lead={common.secretOnce} onClose={onClose} isFirm>
      <Command>{secret}</Command>
      <DialogActions>
        <Button kind="primary" onClick={onClose}>
          {common.secretSaved}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
