//! Putting SKUs on offer, listing them and taking them off.

use contract::{
    Code, Page,
    skus::{CreateSku, ListSkus, RetireSku, Sku, SkuCreated, SkuRetired},
};

use super::store;
use crate::FleetArea;
use platform::{
    events::emit,
    http::{Call, Failure, Handle, ProblemBuilder, Request},
};

// bound: what the contract's schema says of `gpu_counts`
const MOST_COUNTS: usize = 16;
// bound: what the contract's schema says of `gpu_counts`
const MOST_GPUS: u16 = 64;

impl Handle<CreateSku> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<CreateSku>) -> Result<Sku, Failure> {
        let mut spec = request.body;
        spec.gpu_counts = counts(spec.gpu_counts)?;
        let added = store::insert(&mut call.tx, &spec).await?;
        let sku = added.ok_or_else(|| Failure::new(Code::NameTaken, "another SKU has or had this name"))?;
        call.about(sku.id);
        emit(&mut call.tx, None, sku.id, &SkuCreated { id: sku.id, name: sku.name.clone() });
        Ok(sku)
    }
}

impl Handle<ListSkus> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<ListSkus>) -> Result<Page<Sku>, Failure> {
        let rows = store::list(&mut call.tx, &request.query).await?;
        Ok(Page::cut(rows, request.query.limit, |it| it.id.uuid()))
    }
}

impl Handle<RetireSku> for FleetArea {
    async fn handle(&self, call: &mut Call, request: Request<RetireSku>) -> Result<Sku, Failure> {
        let id = request.path.sku_id;
        let found = store::retire(&mut call.tx, id).await?;
        let (sku, was_on_offer) = found.ok_or_else(|| Failure::not_found("SKU"))?;
        // Asking again for what is done changes nothing and tells nobody.
        if was_on_offer {
            emit(&mut call.tx, None, id, &SkuRetired { id });
        }
        Ok(sku)
    }
}

/// The counts in order, or what is wrong with them.
fn counts(mut counts: Vec<u16>) -> Result<Vec<u16>, ProblemBuilder> {
    let refused = |detail: String| Err(ProblemBuilder::new(Code::InvalidValue, detail).at("gpu_counts"));
    if counts.is_empty() || counts.len() > MOST_COUNTS {
        return refused(format!("`gpu_counts` names 1 to {MOST_COUNTS} counts, not {}", counts.len()));
    }
    if let Some(bad) = counts.iter().find(|it| !(1..=MOST_GPUS).contains(*it)) {
        return refused(format!("`gpu_counts` contains {bad}; a node has 1 to {MOST_GPUS} GPUs"));
    }
    counts.sort_unstable();
    if let Some(pair) = counts.windows(2).find(|it| it[0] == it[1]) {
        return refused(format!("`gpu_counts` contains {} more than once", pair[0]));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_few_in_bounds_distinct_and_sorted() {
        assert_eq!(counts(vec![8, 1, 64, 4]).unwrap(), [1, 4, 8, 64]);
        for (bad, says) in [
            (vec![], "not 0"),
            ((1..=17).collect(), "not 17"),
            (vec![1, 0], "contains 0"),
            (vec![65], "contains 65"),
            (vec![4, 1, 4], "contains 4 more than once"),
        ] {
            let refused = counts(bad).unwrap_err();
            assert!(refused.detail.contains(says), "{}", refused.detail);
            assert_eq!((refused.code, refused.field.as_deref()), (Code::InvalidValue, Some("gpu_counts")));
        }
    }
}
