//! Random worlds from a seed, and the naive planner that ours is measured against.
#![allow(dead_code, reason = "each test file uses its own part")]

pub mod first_fit;
pub mod soundness;
pub mod stream;

use planner::{
    AllocationKey, Ask, Condition, Fleet, Health, HostResources, Name, Node, NodeKey, OrganizationKey, Resources,
    SameFabric, Shape, SkuShape, Slot, SlotKey, SlotKind, State, Unavailable,
};

/// Splitmix64: the same numbers on every machine, from one seed.
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    pub fn name(&mut self, choices: &[&str]) -> Name {
        self.pick(choices).into()
    }
}

/// Slots of one kind on two NUMA nodes, a fabric device for every two.
pub fn node(key: u128, gpus: u128) -> Node {
    let mut node = Node::new(NodeKey(key), format!("node-{key}"), "north", "default");
    let half = gpus.div_ceil(2).max(1);
    let slot = |at: u128| Slot {
        fabric: Some(format!("nic-{}", at / 2).into()),
        ..Slot::gpu(SlotKey(key * 1_000 + at), "H200").on_numa((at / half) as u32)
    };
    node.slots = (0..gpus).map(slot).collect();
    node
}

pub fn slice(gpus: u32) -> Ask {
    Ask::new(OrganizationKey(1), SkuShape::new(Shape::GpuSlice), gpus)
}

pub fn baremetal(gpus: u32) -> Ask {
    Ask::new(OrganizationKey(1), SkuShape::new(Shape::Baremetal), gpus)
}

pub fn fleet(nodes: impl IntoIterator<Item = Node>) -> Fleet {
    nodes.into_iter().collect()
}

/// Anything that a node can be.
pub fn any_node(random: &mut Random, key: u128) -> Node {
    let gpus = random.pick(&[0, 1, 2, 4, 8, 8, 8]);
    let mut node = node(key, gpus);
    node.region = random.name(&["north", "south"]);
    node.pool = random.name(&["default", "spare"]);
    node.fabric_domain = random.pick(&[None, Some("a"), Some("b"), Some("c")]).map(Name::from);
    node.isolates_vms = random.percent(30);
    node.serves = random.percent(40).then(|| OrganizationKey(random.below(3).into()));
    if random.percent(20) {
        node.tags.insert("fast".into());
    }
    if random.percent(10) {
        node.state = State::Unavailable(random.pick(&[Unavailable::Cordoned, Unavailable::Sanitizing]));
    }
    if random.percent(5) {
        node.health = Health::Bad("xid 79".into());
    }
    let model = random.name(&["H200", "H100"]);
    let (has_mig, has_numa, is_mixed) = (random.percent(15), random.percent(85), random.percent(10));
    for slot in &mut node.slots {
        slot.model = if is_mixed { random.name(&["H200", "H100"]) } else { model.clone() };
        if has_mig {
            slot.kind = SlotKind::Mig { profile: random.name(&["1g", "2g"]) };
        }
        if !has_numa || random.percent(3) {
            slot.numa = None;
        }
        if random.percent(10) {
            slot.fabric = None;
        }
        if random.percent(15) {
            slot.condition = random.pick(&[Condition::Dirty, Condition::Quarantined, Condition::Missing]);
        }
        if random.percent(20) {
            slot.held_by = Some(AllocationKey(1));
        }
    }
    if random.percent(60) {
        node.host = host(random, &[8, 16, 32, 64]);
        for user in 0..random.below(3) {
            let usage = host(random, &[1, 2, 4, 8]);
            if node.free_host().lacks(&usage).is_none() {
                node.usage.insert(AllocationKey(100 + u128::from(user)), usage);
            }
        }
    }
    node
}

/// Some of each resource of a host.
fn host(random: &mut Random, choices: &[u32]) -> HostResources {
    HostResources {
        cpus: random.pick(choices),
        memory_bytes: u64::from(random.pick(choices)) << 30,
        disk_bytes: u64::from(random.pick(choices)) << 40,
        ports: random.pick(choices),
    }
}

/// Anything that can be asked for.
pub fn any_ask(random: &mut Random) -> Ask {
    let profile = random.name(&["1g", "2g"]);
    let shape = random.pick(&[Shape::Baremetal, Shape::GpuSlice, Shape::GpuSlice, Shape::Container, Shape::MigSlice]);
    let count = random.pick(&[0, 1, 1, 2, 2, 3, 4, 8]);
    let slots = if shape == Shape::MigSlice { Resources::mig(profile, count) } else { Resources::gpus(count) };
    let needs = if random.percent(40) { slots.with_host(host(random, &[0, 1, 4, 12, 40])) } else { slots };
    let mut ask = Ask::new(OrganizationKey(random.below(3).into()), SkuShape::new(shape), needs);
    ask.sku.model = random.pick(&[None, Some("H200"), Some("H100")]).map(Name::from);
    ask.sku.numa_bound = random.percent(30);
    ask.region = random.pick(&[None, Some("north"), Some("south")]).map(Name::from);
    ask.nodes = random.pick(&[1, 1, 1, 2, 3]);
    ask.same_fabric = random.pick(&[SameFabric::Any, SameFabric::Preferred, SameFabric::Required]);
    ask.colocate_fabric = random.percent(20);
    if random.percent(20) {
        ask.pools.push("spare".into());
    }
    if random.percent(10) {
        ask.tags.push("fast".into());
    }
    if random.percent(20) {
        ask.anti_affinity.push(NodeKey(random.below(6).into()));
    }
    ask
}

pub fn any_fleet(random: &mut Random, nodes: usize) -> Fleet {
    (0..nodes as u128).map(|key| any_node(random, key)).collect()
}
