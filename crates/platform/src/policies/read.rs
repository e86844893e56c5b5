//! A key's value from what is stored, or its default.

use contract::Label;
use kernel::money::Currency;

use super::{
    Ports,
    settings::{ChoiceKey, CurrencyKey, FlagKey, Kind, NumberKey, PortsKey, TagKey},
};

impl NumberKey {
    /// The smallest value that it accepts.
    pub fn least(self) -> u64 {
        let Kind::Number { min, .. } = self.0.kind else { unreachable!("number keys are of the number kind") };
        min
    }

    pub fn read(self, text: Option<&str>) -> u64 {
        let Kind::Number { default, .. } = self.0.kind else { unreachable!("number keys are of the number kind") };
        text.and_then(|it| it.parse().ok()).unwrap_or(default)
    }
}

impl FlagKey {
    pub fn read(self, text: Option<&str>) -> bool {
        let Kind::Flag { default } = self.0.kind else { unreachable!("flag keys are of the flag kind") };
        text.and_then(|it| it.parse().ok()).unwrap_or(default)
    }
}

impl CurrencyKey {
    pub fn read(self, text: Option<&str>) -> Currency {
        let Kind::Currency { default } = self.0.kind else { unreachable!("currency keys are of the currency kind") };
        let default = || default.parse().expect("a test checks every default");
        text.and_then(|it| it.parse().ok()).unwrap_or_else(default)
    }
}

impl TagKey {
    pub fn read(self, text: Option<&str>) -> Option<Label> {
        let Kind::Tag { default } = self.0.kind else { unreachable!("tag keys are of the tag kind") };
        text.unwrap_or(default).parse().ok()
    }
}

impl ChoiceKey {
    pub fn read(self, text: Option<&str>) -> &'static str {
        let Kind::Choice { words } = self.0.kind else { unreachable!("choice keys are of the choice kind") };
        words.iter().copied().find(|it| Some(*it) == text).unwrap_or(words[0])
    }
}

impl PortsKey {
    pub fn read(self, text: Option<&str>) -> Ports {
        let Kind::Ports { default } = self.0.kind else { unreachable!("port keys are of the port kind") };
        let default = || default.parse().expect("a test checks every default");
        text.and_then(|it| it.parse().ok()).unwrap_or_else(default)
    }
}
