//! What allocations share of a host: CPUs, memory, disk and ports; and requests that
//! take nothing else.

use crate::support::{baremetal, fleet, node, slice};
use planner::{
    AllocationKey, Ask, Change, Denial, Fleet, HostResource, HostResources, Node, NodeKey, OrganizationKey, Reason,
    Resource, Resources, Rule, SameFabric, SlotKind, could_run, explain, plan, soonest,
};

const SOME: HostResources = HostResources { cpus: 16, memory_bytes: 64 << 30, disk_bytes: 1 << 40, ports: 8 };
const GIB: u64 = 1 << 30;

/// A host with that many GPUs and some of everything else.
fn host(key: u128, gpus: u128) -> Node {
    Node { host: SOME, isolates_vms: true, ..node(key, gpus) }
}

fn without_gpus(needs: HostResources) -> Ask {
    Ask { needs: Resources::default().with_host(needs), ..slice(1) }
}

fn cpus(cpus: u32) -> HostResources {
    HostResources { cpus, ..HostResources::default() }
}

fn used(mut node: Node, usage: HostResources) -> Node {
    node.usage.insert(AllocationKey(9), usage);
    node
}

fn nodes(fleet: &Fleet, ask: &Ask) -> Result<Vec<u128>, Denial> {
    plan(fleet, ask).map(|placement| placement.parts.iter().map(|part| part.node.0).collect())
}

#[test]
fn request_without_gpus_prefers_hosts_without_free_slots_and_then_the_least_room() {
    let mut taken = host(2, 1);
    taken.slots[0].held_by = Some(AllocationKey(1));
    let large = Node { host: HostResources { cpus: 64, ..SOME }, ..host(3, 0) };
    let (with_gpus, small) = (host(1, 8), host(4, 0));
    let ask = without_gpus(cpus(4));
    assert_eq!(nodes(&fleet([with_gpus.clone(), taken.clone(), large.clone(), small]), &ask), Ok(vec![2]));
    assert_eq!(nodes(&fleet([with_gpus.clone(), large]), &ask), Ok(vec![3]));
    let placement = plan(&fleet([with_gpus]), &ask).unwrap();
    assert!(placement.parts[0].slots.is_empty(), "its GPUs stay for others");
}

#[test]
fn each_resource_alone_keeps_a_request_away_and_is_named_with_its_amounts() {
    let half = HostResources { cpus: 8, memory_bytes: 32 << 30, disk_bytes: 1 << 39, ports: 4 };
    for resource in HostResource::ALL.iter().copied() {
        let (has, free) = (SOME.of(resource), half.of(resource));
        let needs = |amount| HostResources::default().with(resource, amount);
        for gpus in [0, 1] {
            let ask = |amount| Ask { needs: Resources::gpus(gpus).with_host(needs(amount)), ..slice(1) };
            let fleet = fleet([used(host(1, 2), half)]);
            assert!(plan(&fleet, &ask(free)).is_ok(), "{resource} {gpus}");
            assert_eq!(nodes(&fleet, &ask(free + 1)), Err(Denial::NoRoom), "{resource} {gpus}");
            let explanation = *explain(&fleet, &ask(free + 1)).unwrap_err();
            let in_use = Reason::InUse { resource, free, has, wanted: free + 1 };
            assert_eq!(explanation.rejected[0].reason, in_use);
            assert_eq!((in_use.code(), in_use.resource()), ("in_use", Some(Resource::Host(resource))));
            assert_eq!(explanation.rule, Rule::Host(resource));
            assert_eq!(explanation.smallest_change, Change::LessOf { resource, from: free + 1, to: free });
            let explanation = *explain(&fleet, &ask(has + 1)).unwrap_err();
            let too_small = Reason::TooSmall { resource: Resource::Host(resource), has, wanted: has + 1 };
            assert_eq!(explanation.rejected[0].reason, too_small);
            assert_eq!(resource.code(), too_small.resource().unwrap().code());
        }
    }
}

#[test]
fn mig_slices_that_are_missing_are_named_by_their_profile() {
    let mut split = node(1, 4);
    split.slots.iter_mut().for_each(|slot| slot.kind = SlotKind::Mig { profile: "1g".into() });
    split.slots[0].held_by = Some(AllocationKey(9));
    assert_eq!(split.capacity(), Resources::mig("1g", 4).with_host(HostResources::UNLIMITED));
    assert_eq!(split.used(), Resources::mig("1g", 1));
    let ask = |count| Ask { needs: Resources::mig("1g", count), ..slice(1) };
    let profile = || Resource::MigSlices { profile: "1g".into() };
    let fleet = fleet([split]);
    let reason = |count| explain(&fleet, &ask(count)).unwrap_err().rejected[0].reason.clone();
    assert_eq!(reason(5), Reason::TooSmall { resource: profile(), has: 4, wanted: 5 });
    assert!(matches!(reason(4), Reason::NotFree { wanted: 4, resource, .. } if resource == profile()));
    assert_eq!(reason(4).to_string(), "3 of 4 requested MIG slices 1g free (1 in use)");
    assert_eq!(profile().code(), "mig_slices");
}

#[test]
fn shortfalls_read_as_people_write_amounts() {
    let memory = HostResources { memory_bytes: 48 * GIB, ..HostResources::default() };
    let fleet = fleet([used(host(1, 0), HostResources { memory_bytes: 32 * GIB, ..HostResources::default() })]);
    let explanation = explain(&fleet, &without_gpus(memory)).unwrap_err();
    let reason = "has 32 GiB of memory free of 64 GiB of memory; 48 GiB of memory requested";
    assert_eq!(explanation.rejected[0].reason.to_string(), reason);
    assert_eq!(explanation.rule.to_string(), "too little memory is free on one node");
    assert_eq!(explanation.smallest_change.to_string(), "request 32 GiB of memory instead of 48 GiB of memory");
    let explanation = explain(&Fleet::default(), &without_gpus(cpus(4))).unwrap_err();
    assert_eq!(explanation.smallest_change.to_string(), "add 1 nodes with 4 CPUs each");
}

#[test]
fn bare_metal_takes_the_host_whole_and_shares_it_with_nobody() {
    let fleet_of = |node: Node| fleet([node]);
    let mut fleet = fleet_of(host(1, 8));
    let ask = baremetal(8);
    let placement = plan(&fleet, &ask).unwrap();
    fleet.reserve(&placement, &ask, AllocationKey(1));
    assert_eq!(nodes(&fleet, &without_gpus(cpus(1))), Err(Denial::NoRoom));
    fleet.update(NodeKey(1), |node| node.release(AllocationKey(1)));
    assert_eq!(nodes(&fleet, &Ask { organization: OrganizationKey(1), ..without_gpus(cpus(1)) }), Ok(vec![1]));
    let shared = fleet_of(used(host(1, 8), cpus(1)));
    let explanation = explain(&shared, &ask).unwrap_err();
    assert_eq!(explanation.rejected[0].reason, Reason::Shared { allocations: 1 });
    assert_eq!(explanation.smallest_change, Change::WaitForRelease { gpus: 0 });
}

#[test]
fn gang_without_gpus_takes_all_its_hosts_or_none() {
    let gang = |nodes| Ask { nodes, same_fabric: SameFabric::Any, ..without_gpus(cpus(12)) };
    let fleet = fleet([host(1, 0), used(host(2, 0), cpus(8)), host(3, 0)]);
    assert_eq!(nodes(&fleet, &gang(2)), Ok(vec![1, 3]));
    assert_eq!(nodes(&fleet, &gang(3)), Err(Denial::Gang { fitting: 2, wanted: 3 }));
}

#[test]
fn soonest_is_where_enough_of_the_host_is_left_first() {
    let mut late = used(host(1, 0), cpus(8));
    late.usage.insert(AllocationKey(8), cpus(8));
    let early = used(host(2, 0), cpus(16));
    let ends = |holder: AllocationKey| Some(if holder == AllocationKey(8) { 100 } else { 10 });
    let fleet = fleet([late, early]);
    let soon = |cpu| soonest(&fleet, &without_gpus(cpus(cpu)), AllocationKey(7), &ends);
    assert_eq!(soon(16), Some(vec![NodeKey(2)]), "both of the first would have to end");
    assert!(could_run(&fleet, &without_gpus(cpus(16))));
    assert!(!could_run(&fleet, &without_gpus(cpus(17))), "no host is so large");
}
