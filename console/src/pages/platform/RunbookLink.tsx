import { Link } from '@tanstack/react-router';
import { operations } from '@/strings';
import { Icon } from '@/ui/Icon';

/** Links to what to do about an error. */
export function RunbookLink({ name }: { name: string }) {
  return (
    <Link
      to="/platform/runbooks/$runbook"
      params={{ runbook: name }}
      className="inline-flex items-center gap-1.5 text-sm whitespace-nowrap text-accent-ink hover:underline"
    >
      <Icon name="audit" size={15} />
      {operations.runbooks.open}
    </Link>
  );
}
