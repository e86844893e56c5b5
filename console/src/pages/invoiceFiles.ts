/** Documents come with the token, so that they are fetched and handed over. */

import { api, ask } from '@/api/client';
import { save } from '@/format/csv';

interface Named {
  id: string;
  number: string;
  organization_id: string;
}

const params = (invoice: Named) => ({
  path: { organization_id: invoice.organization_id, invoice_id: invoice.id },
});

export async function savePdf(invoice: Named): Promise<void> {
  const address = '/v1/organizations/{organization_id}/invoices/{invoice_id}/pdf';
  const content = await ask(api.GET(address, { params: params(invoice), parseAs: 'blob' }));
  save(`${invoice.number}.pdf`, 'application/pdf', content as unknown as Blob);
}

export async function saveCsv(invoice: Named): Promise<void> {
  const address = '/v1/organizations/{organization_id}/invoices/{invoice_id}/csv';
  const content = await ask(api.GET(address, { params: params(invoice), parseAs: 'blob' }));
  save(`${invoice.number}.csv`, 'text/csv', content as unknown as Blob);
}
