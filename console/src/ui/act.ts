import { useState } from 'react';

/** Something that is done at a click: whether it is under way, and how it failed. */
export function useAct() {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  /** Says whether it was done. */
  const act = async (work: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
      return true;
    } catch (failed) {
      setError(failed);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, act };
}
