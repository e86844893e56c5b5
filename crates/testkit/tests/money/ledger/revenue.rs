//! What staff are shown of revenue is what the books have, and what was sold is what was used.

use contract::{
    Nothing,
    revenue::{DayRange, GetRevenue, GetUtilization},
};

use crate::ledger::stand::Stand;

#[tokio::test(flavor = "multi_thread")]
async fn revenue_sums_to_what_the_books_have_and_hours_to_what_was_used() {
    let stand = Stand::new(1_234_577).await;
    let one = stand.started(1).await;
    stand.started(8).await;
    for step in [3600, 86_400, 3599] {
        stand.advance(step);
        stand.close().await;
    }
    stand.go(one, "releasing").await;
    stand.close().await;
    let operator = stand.world.as_(&stand.world.operator().await);
    let revenue = operator.call::<GetRevenue>(Nothing {}, DayRange::default(), Nothing {}).await.unwrap();
    let shown: i64 = revenue.lines.iter().map(|it| it.amount_micros).sum();
    let booked: i64 = stand
        .one("SELECT sum(e.amount)::bigint FROM entries e JOIN accounts a ON a.id = e.account_id WHERE a.kind = 'revenue'")
        .await;
    assert!(shown > 0 && shown == booked, "{shown} is not {booked}");
    let days: std::collections::BTreeSet<_> = revenue.lines.iter().map(|it| it.day.clone()).collect();
    assert!(days.len() >= 2, "it is cut by day: {days:?}");

    let utilization = operator.call::<GetUtilization>(Nothing {}, DayRange::default(), Nothing {}).await.unwrap();
    let sold: i64 = utilization.lines.iter().map(|it| it.sold_gpu_seconds).sum();
    let ran = 9 * (3600 + 86_400 + 3599);
    assert!((ran - 60..ran + 9 * 60).contains(&sold), "{sold} is not about {ran}");
    assert!((30..=32).contains(&utilization.lines.len()), "every day is there: {}", utilization.lines.len());

    let (_, stranger) = stand.world.organization().await;
    let stranger = stand.world.as_(&stranger);
    assert!(stranger.call::<GetRevenue>(Nothing {}, DayRange::default(), Nothing {}).await.is_err());
    let backwards = DayRange { since: Some(revenue.until), until: Some(revenue.since) };
    let refused = operator.call::<GetRevenue>(Nothing {}, backwards, Nothing {}).await.unwrap_err();
    assert!(refused.is(contract::Code::InvalidValue), "{refused}");
}
