//! Both buses keep every promise of the conformance suite.

use testkit::bus_conformance::{self, Stand};

mod embedded {
    use super::*;
    macro_rules! run {
        ($check:ident) => {
            #[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                bus_conformance::$check(Stand::embedded().await).await;
            }
        };
    }
    testkit::for_each_bus_check!(run);
}

mod nats {
    use super::*;
    macro_rules! run {
        ($check:ident) => {
            #[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                bus_conformance::$check(Stand::nats().await).await;
            }
        };
    }
    testkit::for_each_bus_check!(run);
}
