/** From a payment to the page of its provider, which is there a moment later. */

import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { flat } from '@/api/lists';
import { paymentsQuery } from '@/api/money';
import { billing as text } from '@/strings';
import { Dialog } from '@/ui/Dialog';
import { Skeleton } from '@/ui/Feedback';

interface Props {
  org: string;
  payment: string;
  onClose: () => void;
}

export function Checkout({ org, payment, onClose }: Props) {
  const payments = useInfiniteQuery(paymentsQuery(org));
  const address = flat(payments.data)?.find((it) => it.id === payment)?.checkout_url;
  useEffect(() => {
    if (address) location.assign(address);
  }, [address]);
  return (
    <Dialog title={text.topUp} lead={text.opening} onClose={onClose}>
      <Skeleton lines={2} />
    </Dialog>
  );
}
