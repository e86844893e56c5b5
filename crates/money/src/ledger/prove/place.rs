//! How far a proof got, as a caller sends it back.

use contract::{id::OrganizationId, ledger::ProofPlace};
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofPosition {
    pub organization: OrganizationId,
    pub part: Part,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Journals after this number; none is from the first of the range on.
    Journals { after: Option<i64> },
    /// Intervals of subjects after this one.
    Intervals { after: Option<Uuid> },
}

impl ProofPosition {
    pub fn start(organization: OrganizationId) -> Self {
        Self { organization, part: Part::Journals { after: None } }
    }

    pub fn text(&self) -> ProofPlace {
        let (letter, after) = match &self.part {
            Part::Journals { after } => ('j', after.map(|it| it.to_string())),
            Part::Intervals { after } => ('u', after.map(|it| it.to_string())),
        };
        let text = format!("{}.{letter}.{}", self.organization.uuid(), after.unwrap_or_default());
        text.parse().expect("a position consists of ids, letters and numbers")
    }

    pub fn parse(text: &ProofPlace) -> Option<Self> {
        let mut pieces = text.as_str().split('.');
        let organization = pieces.next()?.parse::<Uuid>().ok()?.into();
        let (letter, after) = (pieces.next()?, pieces.next()?);
        let part = match (letter, after) {
            ("j", "") => Part::Journals { after: None },
            ("j", number) => Part::Journals { after: Some(number.parse().ok().filter(|it| *it >= 0)?) },
            ("u", "") => Part::Intervals { after: None },
            ("u", id) => Part::Intervals { after: Some(id.parse().ok()?) },
            _ => return None,
        };
        pieces.next().is_none().then_some(Self { organization, part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_round_trip_and_malformed_ones_are_refused() {
        let organization = OrganizationId::generate();
        for part in [
            Part::Journals { after: None },
            Part::Journals { after: Some(7) },
            Part::Intervals { after: None },
            Part::Intervals { after: Some(Uuid::now_v7()) },
        ] {
            let place = ProofPosition { organization, part };
            assert_eq!(ProofPosition::parse(&place.text()), Some(place));
        }
        let id = organization.uuid();
        for bad in ["x".to_owned(), format!("{id}"), format!("{id}.j.-1"), format!("{id}.u.1"), format!("{id}.j.1.2")] {
            assert_eq!(ProofPosition::parse(&bad.parse().unwrap()), None, "{bad}");
        }
    }
}
