//! Guessing passwords is throttled per account, by failures; whoever signed in from
//! a place before passes there all the same, so that nobody is locked out by others.

use std::net::{IpAddr, Ipv6Addr};

use contract::{Code, id::UserId};
use kernel::{
    Tx,
    secrets::{TokenHash, hash_token},
};

use super::store;
use crate::PeopleArea;
use platform::{
    http::{Failure, ProblemBuilder},
    policies::settings,
};

const LANE: &str = "login_failures";
// bound: whoever moves around more is throttled like anybody while others guess
const PLACES: i64 = 32;

/// One account and where somebody tries to enter it from.
pub struct Attempt {
    account: String,
    place: Option<IpAddr>,
}

impl Attempt {
    pub fn new(email: &str, place: Option<IpAddr>) -> Self {
        let account = hash_token(email).as_bytes().iter().take(8).map(|it| format!("{it:02x}")).collect();
        Self { account, place: place.map(network) }
    }

    /// Refuses while there were too many failures, unless the place is known.
    pub async fn check(&self, area: &PeopleArea, tx: &mut Tx, user: Option<UserId>) -> Result<(), Failure> {
        let per_minute = area.policies.number(settings::RATE_LOGIN);
        let Err(wait) = area.limiter.look(LANE, &self.account, per_minute).await else { return Ok(()) };
        if let (Some(user), Some(place)) = (user, self.place) {
            let days = settings::days(area.policies.number(settings::KNOWN_PLACE_DAYS));
            if store::knows_place(tx, user, &hash(user, place), days).await? {
                return Ok(());
            }
        }
        Err(ProblemBuilder::new(Code::TooManyRequests, "too many failed attempts for this account").after(wait).into())
    }

    pub async fn failed(&self, area: &PeopleArea) {
        let _ = area.limiter.admit(LANE, &self.account, area.policies.number(settings::RATE_LOGIN)).await;
    }

    pub async fn succeeded(&self, tx: &mut Tx, user: UserId) -> sqlx::Result<()> {
        match self.place {
            Some(place) => store::remember_place(tx, user, &hash(user, place), PLACES).await,
            None => Ok(()),
        }
    }
}

/// Bound to the person, so that one table does not tell who came from the same place.
fn hash(user: UserId, place: IpAddr) -> TokenHash {
    hash_token(&format!("{user} {place}"))
}

/// A household has many addresses of version 6, of one network.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(it) => match it.to_ipv4_mapped() {
            Some(it) => IpAddr::V4(it),
            None => {
                let [a, b, c, d, ..] = it.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_of_an_address_is_its_household() {
        let of = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(of("192.0.2.7"), "192.0.2.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
    }
}
