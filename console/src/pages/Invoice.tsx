import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { invoiceQuery } from '@/api/money';
import { useOrg } from '@/shell/organization';
import { invoices as text } from '@/strings';
import { Answer } from '@/ui/Feedback';
import { saveCsv, savePdf } from './invoiceFiles';
import { InvoiceView } from './InvoiceView';

export function InvoicePage() {
  const org = useOrg();
  const { invoice = '' } = useParams({ strict: false }) as { invoice?: string };
  const query = useQuery(invoiceQuery(org, invoice));
  return (
    <Answer query={query} lines={8}>
      {(it) => (
        <InvoiceView
          invoice={it}
          files={{ savePdf, saveCsv }}
          above={
            <Link to="/o/$org/invoices" params={{ org }} className="hover:underline">
              {text.title}
            </Link>
          }
        />
      )}
    </Answer>
  );
}
