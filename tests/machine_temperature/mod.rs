//! The real readings of `tests/data/` end to end: posted over HTTP in any
//! order, in any batches, through crashes and broken connections, they give
//! the table of its README, before and after a restart, on every store.
//!
//! - [`table`]: what must come out, over `/hourly` and `/readings`.
//! - [`ledger`]: `/metrics` at rest, which must balance.
//! - [`send`]: batches over kept connections.
//! - the claims, the same for each store: [`orders`], [`lines`], [`kills`],
//!   [`closing_clients`], [`mid_flight`], [`metrics_page`]; [`documents`] is
//!   of MongoDB alone, [`datagrams`] is over UDP, [`migrated`] goes from
//!   one store to the other.

mod closing_clients;
mod datagrams;
mod documents;
mod embedded;
mod kills;
pub(crate) mod ledger;
mod lines;
mod metrics_page;
mod mid_flight;
mod migrated;
mod mongodb;
mod orders;
mod send;
mod table;

/// Makes every claim a test on the store of `$site`, an async function that
/// makes a [`crate::support::site::Site`].
macro_rules! for_every_claim {
    ($site:path) => {
        $crate::machine_temperature::for_every_claim! { $site:
            orders::in_file_order_in_large_batches
            orders::in_file_order_in_batches_of_seven
            orders::the_file_as_csv_in_one_body
            orders::in_any_order_one_reading_a_request
            orders::every_batch_sent_twice_at_once
            lines::by_version_1_in_every_precision
            lines::by_version_2_in_every_precision
            kills::kill_9_with_requests_in_flight_loses_and_doubles_nothing
            kills::a_chain_of_kills_at_rest_keeps_the_ledger_balanced
            kills::a_kill_while_it_stops_loses_nothing
            closing_clients::clients_that_hang_up_at_once_lose_no_part_of_a_batch_and_leak_nothing
            mid_flight::queries_tell_what_was_acknowledged_while_flushes_run
            mid_flight::queries_tell_what_was_acknowledged_with_little_memory
            mid_flight::queries_tell_what_was_acknowledged_of_an_hour_in_many_parts
            metrics_page::the_page_of_metrics_is_what_prometheus_reads
        }
    };
    ($site:path: $($module:ident::$claim:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $claim() {
                $crate::machine_temperature::$module::$claim(&$site().await).await;
            }
        )*
    };
}
use for_every_claim;
