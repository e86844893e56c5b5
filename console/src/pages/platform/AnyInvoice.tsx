import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { anyInvoiceQuery } from '@/api/platform';
import { operations } from '@/strings';
import { Answer } from '@/ui/Feedback';
import { InvoiceView } from '../InvoiceView';
import { saveAnyCsv, saveAnyPdf } from './anyInvoiceFiles';
import { OrganizationName } from './OrganizationName';

export function AnyInvoicePage() {
  const { invoice = '' } = useParams({ strict: false }) as { invoice?: string };
  const query = useQuery(anyInvoiceQuery(invoice));
  return (
    <Answer query={query} lines={8}>
      {(it) => (
        <InvoiceView
          invoice={it}
          files={{ savePdf: saveAnyPdf, saveCsv: saveAnyCsv }}
          above={
            <>
              <Link to="/platform/invoices" className="hover:underline">
                {operations.invoices.title}
              </Link>{' '}
              · <OrganizationName id={it.organization_id} />
            </>
          }
        />
      )}
    </Answer>
  );
}
