//! Taking a number of things out of groups so that few groups are touched and
//! little is left over. NUMA nodes, fabric devices and fabric domains are such groups.

/// From which groups to take how many: `(index, count)`. `sizes` are sorted, largest
/// first. While no single group holds the rest, the largest goes whole; the rest
/// comes from the smallest that holds it. None when there is not enough.
pub fn fewest(sizes: &[usize], wanted: usize) -> Option<Vec<(usize, usize)>> {
    debug_assert!(sizes.is_sorted_by(|a, b| a >= b), "largest first");
    let mut taken = Vec::new();
    let mut rest = wanted;
    let mut at = 0;
    while rest > 0 {
        let largest = *sizes.get(at)?;
        if largest >= rest {
            taken.push((at + snuggest(&sizes[at..], rest), rest));
            return Some(taken);
        }
        if largest == 0 {
            return None;
        }
        taken.push((at, largest));
        rest -= largest;
        at += 1;
    }
    Some(taken)
}

/// How many groups `fewest` would touch, and what it would leave in the last one.
pub fn cost(sizes: &[u16], wanted: usize) -> Option<(u16, u16)> {
    let mut rest = wanted;
    for (at, size) in sizes.iter().map(|size| usize::from(*size)).enumerate() {
        if size >= rest {
            let last = sizes[at..].iter().rev().find(|size| usize::from(**size) >= rest)?;
            return Some((u16::try_from(at + 1).ok()?, last.saturating_sub(u16::try_from(rest).ok()?)));
        }
        rest -= size;
    }
    None
}

/// The last of the sorted groups that still holds `wanted`; the first one does.
/// Of several of one size it is the first, so that the order of groups decides.
fn snuggest(sizes: &[usize], wanted: usize) -> usize {
    let last = sizes.partition_point(|size| *size >= wanted).saturating_sub(1);
    sizes.iter().position(|size| *size == sizes[last]).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snuggest_single_group_is_chosen() {
        assert_eq!(fewest(&[4, 3, 3, 2], 3), Some(vec![(1, 3)]));
        assert_eq!(fewest(&[4, 3, 2], 2), Some(vec![(2, 2)]));
        assert_eq!(fewest(&[4, 4], 4), Some(vec![(0, 4)]));
    }

    #[test]
    fn large_groups_go_whole_and_the_rest_comes_from_the_snuggest() {
        assert_eq!(fewest(&[4, 4, 1], 5), Some(vec![(0, 4), (2, 1)]));
        assert_eq!(fewest(&[4, 3, 2], 9), Some(vec![(0, 4), (1, 3), (2, 2)]));
    }

    #[test]
    fn too_little_is_nothing() {
        assert_eq!(fewest(&[4, 3], 8), None);
        assert_eq!(fewest(&[], 1), None);
        assert_eq!(fewest(&[2, 0], 3), None);
        assert_eq!(fewest(&[], 0), Some(vec![]));
    }

    #[test]
    fn the_cost_is_that_of_the_filling() {
        for wanted in 1..=10 {
            for sizes in [&[4u16, 4, 1][..], &[8], &[3, 2, 2, 1], &[1, 1, 1]] {
                let wide: Vec<usize> = sizes.iter().map(|size| usize::from(*size)).collect();
                let filled = fewest(&wide, wanted).map(|taken| {
                    let (last, count) = taken[taken.len() - 1];
                    (taken.len() as u16, (wide[last] - count) as u16)
                });
                assert_eq!(cost(sizes, wanted), filled, "{wanted} of {sizes:?}");
            }
        }
    }
}
