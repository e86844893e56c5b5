import { useQuery } from '@tanstack/react-query';
import { api, ask } from '@/api/client';
import { sellerProfileQuery } from '@/api/platform';
import { operations } from '@/strings';
import { ProfileCard } from './ProfileForm';

const text = operations.profiles;

export function SellerProfile() {
  return (
    <ProfileCard
      title={text.seller}
      lead={text.sellerLead}
      none={text.sellerNone}
      command={text.sellerCommand}
      query={useQuery(sellerProfileQuery())}
      save={(body) => ask(api.PUT('/v1/platform/billing-profile', { body }))}
    />
  );
}
