import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { organizationNamesQuery } from '@/api/platform';
import { Id } from '@/ui/Values';

/** An organization by its name, which leads to it. */
export function OrganizationName({ id }: { id: string | null | undefined }) {
  const names = useQuery(organizationNamesQuery());
  if (!id) return <span className="text-faint">–</span>;
  const name = names.data?.get(id);
  if (!name) return <Id id={id} />;
  return (
    <Link
      to="/platform/organizations/$organization"
      params={{ organization: id }}
      className="hover:text-accent-ink hover:underline"
    >
      {name}
    </Link>
  );
}
