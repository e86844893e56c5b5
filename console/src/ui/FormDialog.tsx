import type { ReactNode } from 'react';
import { common } from '@/strings';
import { useAct } from './act';
import { Button } from './Button';
import { Dialog, DialogActions } from './Dialog';
import { Failure } from './Feedback';

interface Props {
  title: string;
  lead?: ReactNode;
  action: string;
  canSubmit?: boolean;
  onSubmit: () => Promise<unknown>;
  onClose: () => void;
  /** What is shown when it is done takes this dialog's place. */
  hasSequel?: boolean;
  children: ReactNode;
}

export function FormDialog({
  title,
  lead,
  action,
  canSubmit = true,
  onSubmit,
  onClose,
  hasSequel,
  children,
}: Props) {
  const { busy, error, act } = useAct();
  return (
    <Dialog title={title} lead={lead} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void act(onSubmit).then((isDone) => isDone && !hasSequel && onClose());
        }}
      >
        <div className="space-y-4">{children}</div>
        {error !== undefined && (
          <div className="mt-4">
            <Failure error={error} />
          </div>
        )}
        <DialogActions>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" kind="primary" busy={busy} disabled={!canSubmit}>
            {action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
