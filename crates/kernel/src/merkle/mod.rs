//! The mathematics of the sealed audit log: hashes of rows become leaves, a
//! batch of leaves becomes a root, and roots form a chain that is signed.
//! When batches are cut and where they are kept is the audit log's business.
//!
//! The tree is that of RFC 6962: leaves and nodes are hashed under different
//! tags, so that neither passes for the other, and the odd node of a level
//! moves up unpaired, so that no two lists of leaves share a root.

mod canonical;
mod seal_key;

use aws_lc_rs::digest::{Context, SHA256};

pub use canonical::{Canonical, canonical_json};
pub use seal_key::{PUBLIC_KEY_BYTES, SIGNATURE_BYTES, SealError, SealKey, seal_key_id, verify};

pub type Hash = [u8; 32];

const LEAF: u8 = 0;
const NODE: u8 = 1;
const EMPTY: u8 = 2;
const CHAIN: u8 = 3;

/// The hash of one row, from its [`Canonical`] bytes.
pub fn leaf(bytes: &[u8]) -> Hash {
    hash(LEAF, &[bytes])
}

/// The root over the leaves of a batch, in their order.
pub fn root(leaves: &[Hash]) -> Hash {
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = parents(&level);
    }
    level.first().copied().unwrap_or_else(|| hash(EMPTY, &[]))
}

/// Links a batch to all before it. The header says what the batch covers (its
/// number, its count of rows, its time); the first batch has a previous root
/// of zeros.
pub fn chain(previous_root: &Hash, batch_root: &Hash, header: &[u8]) -> Hash {
    hash(CHAIN, &[previous_root, batch_root, header])
}

/// Shows that a leaf is in a batch without the other leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    pub index: u64,
    pub leaf_count: u64,
    /// The neighbor at each level where there is one, from the leaf upwards.
    pub neighbors: Vec<Hash>,
}

/// Nothing if there is no leaf at `index`.
pub fn proof(leaves: &[Hash], index: usize) -> Option<Proof> {
    if index >= leaves.len() {
        return None;
    }
    let mut neighbors = Vec::new();
    let mut place = index;
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        neighbors.extend(level.get(place ^ 1));
        place /= 2;
        level = parents(&level);
    }
    Some(Proof { index: index as u64, leaf_count: leaves.len() as u64, neighbors })
}

pub fn verify_proof(leaf: &Hash, proof: &Proof, root: &Hash) -> bool {
    if proof.index >= proof.leaf_count {
        return false;
    }
    let mut neighbors = proof.neighbors.iter();
    let (mut place, mut width) = (proof.index, proof.leaf_count);
    let mut reached = *leaf;
    while width > 1 {
        let is_unpaired = place == width - 1 && place.is_multiple_of(2);
        if !is_unpaired {
            let Some(neighbor) = neighbors.next() else {
                return false;
            };
            reached = if place.is_multiple_of(2) { node(&reached, neighbor) } else { node(neighbor, &reached) };
        }
        place /= 2;
        width = width.div_ceil(2);
    }
    neighbors.next().is_none() && reached == *root
}

fn parents(level: &[Hash]) -> Vec<Hash> {
    level
        .chunks(2)
        .map(|pair| match pair {
            [left, right] => node(left, right),
            unpaired => unpaired[0],
        })
        .collect()
}

fn node(left: &Hash, right: &Hash) -> Hash {
    hash(NODE, &[left, right])
}

/// Only the last part may vary in length, or two inputs could hash alike.
fn hash(tag: u8, parts: &[&[u8]]) -> Hash {
    let mut context = Context::new(&SHA256);
    context.update(&[tag]);
    for part in parts {
        context.update(part);
    }
    let digest = context.finish();
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn leaves(count: usize) -> Vec<Hash> {
        (0..count).map(|it| leaf(&it.to_be_bytes())).collect()
    }

    fn hex(hash: &Hash) -> String {
        hash.iter().map(|it| format!("{it:02x}")).collect()
    }

    #[test]
    fn hashes_are_fixed_for_all_time() {
        // printf '\x00' | sha256sum, and so on: auditors compute these without us.
        assert_eq!(hex(&leaf(b"")), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
        assert_eq!(hex(&root(&[])), "dbc1b4c900ffe48d575b5da5c638040125f65db0fe3e24494b76ea986457d986");
        assert_eq!(root(&leaves(1)), leaves(1)[0]);
    }

    #[test]
    fn an_odd_leaf_is_not_the_same_as_two() {
        let three = leaves(3);
        let doubled = [three[0], three[1], three[2], three[2]];
        assert_ne!(root(&three), root(&doubled));
    }

    #[test]
    fn an_inner_node_does_not_pass_for_a_leaf() {
        let four = leaves(4);
        assert_ne!(root(&four), leaf(&[four[0], four[1]].concat()));
        let forged: Vec<u8> = [root(&four[..2]), root(&four[2..])].concat();
        assert_ne!(root(&four), leaf(&forged));
    }

    #[test]
    fn the_chain_depends_on_everything_before() {
        let (a, b) = (leaf(b"a"), leaf(b"b"));
        let whole = chain(&a, &b, b"header");
        assert_ne!(whole, chain(&b, &b, b"header"));
        assert_ne!(whole, chain(&a, &a, b"header"));
        assert_ne!(whole, chain(&a, &b, b"headers"));
        assert_ne!(whole, chain(&b, &a, b"header"));
    }

    #[test]
    fn every_leaf_of_every_small_batch_has_a_proof() {
        for count in 1..70 {
            let leaves = leaves(count);
            let root = root(&leaves);
            for (index, leaf) in leaves.iter().enumerate() {
                let proof = proof(&leaves, index).unwrap();
                assert!(verify_proof(leaf, &proof, &root), "{index} of {count}");
            }
            assert_eq!(proof(&leaves, count), None);
        }
    }

    proptest! {
        #[test]
        fn any_change_of_the_leaves_changes_the_root(
            count in 1_usize..200, place: prop::sample::Index, other: prop::sample::Index, what in 0..4,
        ) {
            let before = leaves(count);
            let place = place.index(count);
            let mut after = before.clone();
            match what {
                0 => after[place][0] ^= 1,
                1 => drop(after.remove(place)),
                2 => after.insert(place, leaf(b"new")),
                _ => after.swap(place, other.index(count)),
            }
            prop_assert_eq!(before == after, root(&before) == root(&after));
        }

        #[test]
        fn a_bent_proof_proves_nothing(
            count in 1_usize..200, place: prop::sample::Index, other: prop::sample::Index, what in 0..5,
        ) {
            let leaves = leaves(count);
            let root = root(&leaves);
            let place = place.index(count);
            let honest = proof(&leaves, place).unwrap();
            let mut bent = honest.clone();
            let mut leaf = leaves[place];
            match what {
                0 => leaf = leaves[other.index(count)],
                1 => bent.index = other.index(count) as u64,
                2 => bent.neighbors.push(leaf),
                3 => drop(bent.neighbors.pop()),
                _ => bent.leaf_count = 0,
            }
            let unchanged = bent == honest && leaf == leaves[place];
            prop_assert_eq!(verify_proof(&leaf, &bent, &root), unchanged);
        }

        #[test]
        fn no_proof_panics(index: u64, leaf_count: u64, neighbors: Vec<Hash>) {
            let proof = Proof { index, leaf_count, neighbors };
            prop_assert!(!verify_proof(&[0; 32], &proof, &[1; 32]));
        }
    }
}
