//! Against naive first fit: no fewer GPUs placed in total, and nowhere far fewer.

use crate::support::first_fit::first_fit;
use crate::support::{Random, stream};
use planner::plan;
use std::thread;

const FLEETS: u64 = 1_000;
const THREADS: u64 = 2;
const LOWEST_PERCENT: u64 = 95;

/// What both placed on the fleet of a seed.
#[derive(Clone, Copy)]
struct Run {
    seed: u64,
    ours: u64,
    naive: u64,
}

#[test]
fn over_a_thousand_fleets_no_fewer_gpus_are_placed_than_by_first_fit() {
    let worker =
        |first: u64| thread::spawn(move || (first..FLEETS).step_by(THREADS as usize).map(run).collect::<Vec<Run>>());
    let workers: Vec<_> = (0..THREADS).map(worker).collect();
    let runs: Vec<Run> = workers.into_iter().flat_map(|worker| worker.join().expect("a worker ends")).collect();
    let (ours, naive) = runs.iter().fold((0, 0), |(ours, naive), run| (ours + run.ours, naive + run.naive));
    let better = runs.iter().filter(|run| run.ours > run.naive).count();
    let worse = runs.iter().filter(|run| run.ours < run.naive).count();
    let lowest = runs.iter().min_by_key(|run| run.ours * 1_000_000 / run.naive).expect("there were fleets");
    println!("{} fleets: {ours} GPUs placed, {naive} by first fit; more on {better}, fewer on {worse}", runs.len());
    let percent = lowest.ours as f64 * 100.0 / lowest.naive as f64;
    println!("the lowest share of first fit: {percent:.1} % at seed {}", lowest.seed);
    assert!(ours >= naive, "{ours} GPUs placed, {naive} by first fit");
    let is_close = lowest.ours * 100 >= lowest.naive * LOWEST_PERCENT;
    assert!(is_close, "seed {}: {} placed, {} by first fit", lowest.seed, lowest.ours, lowest.naive);
}

fn run(seed: u64) -> Run {
    let mut random = Random(seed);
    let fleet = stream::fleet(&mut random);
    let steps = stream::steps(&mut random, &fleet);
    let ours = stream::play(&fleet, &steps, |fleet, ask| plan(fleet, ask).ok());
    let naive = stream::play(&fleet, &steps, first_fit);
    Run { seed, ours, naive }
}
