//! Describing problem codes, where a problem's `type` points to.

use contract::{
    Code,
    problems::{DescribeProblem, ProblemKind},
};

use crate::{
    Platform,
    http::{Call, Failure, Handle, Request},
};

impl Handle<DescribeProblem> for Platform {
    async fn handle(&self, _: &mut Call, request: Request<DescribeProblem>) -> Result<ProblemKind, Failure> {
        let code = Code::from_name(&request.path.code).ok_or_else(|| Failure::not_found("problem code"))?;
        let info = code.info();
        Ok(ProblemKind {
            code: info.name.into(),
            status: info.status,
            title: info.title.into(),
            advice: info.advice.into(),
        })
    }
}
