//! The claims. Each takes a fixture on empty data.

mod attributes;
mod awkward;
mod concurrent;
mod copies;
mod draft;
mod drops;
mod edits;
mod fences;
mod filters;
mod hours;
mod parts;
mod put_sensors;
mod recent;
mod records;
mod registry;
mod scans;
mod sites;
mod writes;

pub(crate) use attributes::*;
pub(crate) use awkward::*;
pub(crate) use concurrent::*;
pub(crate) use copies::*;
pub(crate) use drops::*;
pub(crate) use edits::*;
pub(crate) use fences::*;
pub(crate) use filters::*;
pub(crate) use hours::*;
pub(crate) use parts::*;
pub(crate) use put_sensors::*;
pub(crate) use recent::*;
pub(crate) use registry::*;
pub(crate) use scans::*;
pub(crate) use sites::*;
pub(crate) use writes::*;

/// Makes one test of each claim. A claim that is missing here is dead code, so
/// the compiler tells.
macro_rules! for_every_claim {
    ($fixture:path) => {
        for_every_claim! { $fixture:
            // writes
            a_created_bucket_is_loaded_as_it_was_written
            appends_keep_the_order_of_arrival
            a_late_measure_stays_an_element_of_its_own
            values_come_back_bit_for_bit
            many_small_appends_lose_nothing
            loading_answers_in_the_order_of_the_keys
            what_is_stored_survives_reopening
            // fences
            a_create_is_fenced_where_the_bucket_is
            an_append_is_fenced_where_no_bucket_is
            an_append_to_another_version_is_fenced
            a_lost_reply_is_decided_by_loading
            a_fenced_write_does_not_stop_the_others_of_its_round
            // parts
            the_next_part_follows_a_closed_one_or_is_refused
            a_closed_part_takes_no_appends
            a_next_part_is_made_once
            // awkward names
            sensors_with_separators_in_their_ids_stay_apart
            measures_that_trouble_documents_come_back
            // hours
            hours_tell_the_computed_fields_within_the_range
            hours_tell_the_version_of_the_bucket
            the_newest_bucket_is_that_of_the_last_hour
            a_repair_replaces_the_computed_fields_of_its_version_only
            // scans
            a_scan_gives_the_hours_in_the_order_asked_for
            a_scan_of_nothing_is_empty
            all_gives_every_bucket_in_the_order_of_keys
            // registry
            a_touch_never_moves_a_time_back
            sensors_are_paged_by_id
            a_store_in_order_answers_a_ping
            // attributes
            attributes_are_merged_by_key_and_the_last_told_wins
            attributes_of_any_text_come_back_and_survive_reopening
            at_64_attributes_known_ones_are_updated_and_new_ones_not_taken
            tellers_of_different_keys_lose_none
            // what people say of sensors
            what_people_put_comes_back_and_survives_reopening
            a_put_replaces_what_was_said_and_leaves_what_was_sent
            a_put_is_fenced_by_the_version_of_its_record
            of_many_who_put_one_sensor_none_loses_what_others_said
            at_64_attributes_those_that_people_set_stay
            a_put_never_takes_a_newer_copy_of_its_site_back
            // lists of sensors
            lists_hold_what_passes_their_filter_in_their_order
            silent_sensors_are_counted_as_they_are_listed
            an_attribute_answers_as_text_and_as_number
            a_list_goes_on_behind_a_sensor_that_is_not_there_any_more
            // sites
            a_site_comes_back_as_it_was_put_and_survives_reopening
            sites_are_paged_by_id
            a_site_is_fenced_by_its_version
            a_site_notes_that_its_copies_are_to_be_rewritten
            // copies of sites
            copies_are_rewritten_in_steps_to_the_end
            a_newer_copy_is_never_overwritten
            a_site_that_changes_meanwhile_is_rewritten_from_the_start
            copies_are_true_in_the_end_whoever_rewrites_them
            // edits
            an_edit_replaces_the_readings_of_its_version_only
            an_edit_that_leaves_nothing_keeps_the_bucket
            an_edit_of_a_full_part_raises_the_open_one
            an_edit_that_keeps_a_part_leaves_it_as_it_is
            an_edit_that_is_fenced_half_way_leaves_true_computed_fields
            a_removed_bucket_is_gone_and_can_be_made_anew
            // drops
            dropped_hours_are_gone_and_no_others
            the_oldest_hours_are_those_that_are_left
            dropped_readings_leave_the_computed_fields
            dropped_readings_of_every_part_go
            a_write_to_dropped_readings_is_fenced
            the_mark_of_dropped_readings_never_moves_back
            // recent readings
            recent_readings_come_back_as_they_were_told
            recent_readings_are_replaced_under_their_fence
            recent_readings_whose_reply_was_lost_are_told_again
            of_two_tellers_of_recent_readings_neither_loses_any
            what_is_told_without_recent_readings_leaves_them
            sensors_are_answered_by_id_with_all_they_hold
            // concurrency
            c07_of_concurrent_creates_exactly_one_is_stored
            concurrent_appends_all_go_in_once
            i03_a_reader_sees_true_computed_fields_while_appends_go_on
        }
    };
    ($fixture:path: $($claim:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $claim() {
                $crate::store_conformance::suite::$claim(&mut $fixture().await).await;
            }
        )*
    };
}
pub(crate) use for_every_claim;
