//! Amounts of what a request needs of a node and a node has: GPUs or MIG slices, which
//! are slots of their own, and what all allocations of a host share.

use crate::key::Name;
use std::collections::BTreeMap;
use std::fmt;

/// Per node. Of GPUs and MIG slices a request needs one kind, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    pub gpus: u32,
    /// MIG slices by profile.
    pub mig: BTreeMap<Name, u32>,
    pub host: HostResources,
}

/// What the allocations of a host share besides its GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostResources {
    pub cpus: u32,
    pub memory_bytes: u64,
    pub disk_bytes: u64,
    /// Ports of the host's address.
    pub ports: u32,
}

/// One of the resources of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostResource {
    Cpus,
    Memory,
    Disk,
    Ports,
}

/// Anything of which a node can have too little.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    Gpus,
    MigSlices { profile: Name },
    Host(HostResource),
}

impl Resources {
    pub fn gpus(count: u32) -> Self {
        Self { gpus: count, ..Self::default() }
    }

    pub fn mig(profile: impl Into<Name>, count: u32) -> Self {
        Self { mig: BTreeMap::from([(profile.into(), count)]), ..Self::default() }
    }

    /// The same with these shared resources.
    pub fn with_host(self, host: HostResources) -> Self {
        Self { host, ..self }
    }

    /// Profiles of which there is at least one slice.
    pub(crate) fn profiles(&self) -> impl Iterator<Item = (&Name, u32)> {
        self.mig.iter().filter(|(_, count)| **count > 0).map(|(profile, count)| (profile, *count))
    }

    pub fn is_nothing(&self) -> bool {
        self.gpus == 0 && self.profiles().next().is_none() && self.host.is_nothing()
    }
}

/// That many GPUs and nothing else.
impl From<u32> for Resources {
    fn from(gpus: u32) -> Self {
        Self::gpus(gpus)
    }
}

impl HostResources {
    /// Of a host of which nobody said how much it has.
    pub const UNLIMITED: Self = Self { cpus: u32::MAX, memory_bytes: u64::MAX, disk_bytes: u64::MAX, ports: u32::MAX };

    pub fn of(&self, resource: HostResource) -> u64 {
        match resource {
            HostResource::Cpus => self.cpus.into(),
            HostResource::Memory => self.memory_bytes,
            HostResource::Disk => self.disk_bytes,
            HostResource::Ports => self.ports.into(),
        }
    }

    /// The same with another amount of one resource.
    pub fn with(mut self, resource: HostResource, amount: u64) -> Self {
        let narrow = u32::try_from(amount).unwrap_or(u32::MAX);
        match resource {
            HostResource::Cpus => self.cpus = narrow,
            HostResource::Memory => self.memory_bytes = amount,
            HostResource::Disk => self.disk_bytes = amount,
            HostResource::Ports => self.ports = narrow,
        }
        self
    }

    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// The first resource of which these are less than needed.
    pub fn lacks(&self, needs: &Self) -> Option<HostResource> {
        HostResource::ALL.iter().copied().find(|it| self.of(*it) < needs.of(*it))
    }

    /// What is left of these without the others.
    pub fn without(&self, others: &Self) -> Self {
        HostResource::ALL.iter().fold(*self, |left, it| left.with(*it, self.of(*it).saturating_sub(others.of(*it))))
    }

    /// Both together.
    pub fn and(&self, others: &Self) -> Self {
        HostResource::ALL.iter().fold(*self, |sum, it| sum.with(*it, self.of(*it).saturating_add(others.of(*it))))
    }
}

impl HostResource {
    pub const ALL: &'static [Self] = &[Self::Cpus, Self::Memory, Self::Disk, Self::Ports];

    pub fn code(self) -> &'static str {
        match self {
            Self::Cpus => "cpus",
            Self::Memory => "memory_bytes",
            Self::Disk => "disk_bytes",
            Self::Ports => "ports",
        }
    }
}

impl Resource {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Gpus => "gpus",
            Self::MigSlices { .. } => "mig_slices",
            Self::Host(resource) => resource.code(),
        }
    }

    /// An amount of it, for people.
    pub(crate) fn amount(&self, number: u64) -> String {
        match self {
            Self::Host(HostResource::Memory) => format!("{} of memory", bytes(number)),
            Self::Host(HostResource::Disk) => format!("{} of disk", bytes(number)),
            _ => format!("{number} {self}"),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpus => f.write_str("GPUs"),
            Self::MigSlices { profile } => write!(f, "MIG slices {profile}"),
            Self::Host(resource) => resource.fmt(f),
        }
    }
}

impl fmt::Display for HostResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpus => "CPUs",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Ports => "ports",
        })
    }
}

/// Everything that is needed, for people; empty when that is nothing.
impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gpus = (self.gpus > 0).then(|| Resource::Gpus.amount(self.gpus.into()));
        let mig = self.profiles().map(|(profile, count)| {
            let profile = profile.clone();
            Resource::MigSlices { profile }.amount(count.into())
        });
        let host = HostResource::ALL.iter().filter(|it| self.host.of(**it) > 0);
        let host = host.map(|it| Resource::Host(*it).amount(self.host.of(*it)));
        f.write_str(&gpus.into_iter().chain(mig).chain(host).collect::<Vec<_>>().join(", "))
    }
}

/// In the largest unit that says it exactly.
fn bytes(number: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let exact = units.iter().find(|(bits, _)| number > 0 && number.is_multiple_of(1 << bits));
    exact.map_or_else(|| format!("{number} bytes"), |(bits, unit)| format!("{} {unit}", number >> bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        let host = HostResources { cpus: 16, memory_bytes: 64 << 30, disk_bytes: 1536 << 20, ports: 2 };
        let needs = Resources::gpus(2).with_host(host);
        assert_eq!(needs.to_string(), "2 GPUs, 16 CPUs, 64 GiB of memory, 1536 MiB of disk, 2 ports");
        assert_eq!(Resources::mig("1g", 3).to_string(), "3 MIG slices 1g");
        assert_eq!(bytes(1000), "1000 bytes");
    }

    #[test]
    fn sums_and_rests_neither_overflow_nor_go_below_nothing() {
        let some = HostResources { cpus: 3, memory_bytes: 5, disk_bytes: 7, ports: 9 };
        assert_eq!(HostResources::UNLIMITED.and(&some), HostResources::UNLIMITED);
        assert_eq!(some.without(&HostResources::UNLIMITED), HostResources::default());
        assert_eq!(some.and(&some).without(&some), some);
        assert_eq!(some.lacks(&some), None);
        assert_eq!(some.lacks(&some.with(HostResource::Disk, 8)), Some(HostResource::Disk));
    }
}
