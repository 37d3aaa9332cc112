"""The list of faults of model files, saving, processes, streams, documents, tables and surroundings, each with the tests that run against it.

Not there yet, and so without a test: 73 (patterns of one's own for tokens); of 69, a command that checks a corpus; of 77, several jobs.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FAULTS = {
    1: ("no model", "cli_classify.invalid_model_paths_exit_with_status_3", "store_model_file.missing_model_is_reported_with_its_name"),
    2: ("a model that is a directory, a pipe, a device, a socket", "faults_model.fault_2_model_that_is_not_a_regular_file_is_refused"),
    3: ("a model that may not be read", "faults_model.fault_3_unreadable_model_is_refused"),
    4: ("an empty model", "store_damage.command_refuses_damage_with_one_line"),
    5: ("a model cut short at every byte", "store_damage.every_damage_is_refused"),
    6: ("a bit flipped in every byte", "store_damage.every_damage_is_refused"),
    7: (
        "some bytes changed, with a true checksum",
        "store_changed_numbers.one_changed_number_is_refused_or_harmless", "fuzz.every_input_is_read_or_refused",
    ),
    8: ("something else as a model", "store_damage.other_files_are_reported_as_not_a_model"),
    9: (
        "pickles that run code",
        "faults_model.fault_9_hostile_pickles_are_not_unpickled", "faults_model.fault_9_hostile_pickles_behind_a_valid_header_are_not_unpickled",
        "faults_model.watcher_detects_unpickling_by_joblib", "store_hostile.hostile_files_are_refused_and_run_no_code",
    ),
    10: ("arrays of objects", "faults_model.fault_9_hostile_pickles_are_not_unpickled", "store_hostile.hostile_files_are_refused_and_run_no_code"),
    11: ("types of arrays with wild fields", "faults_model.fault_9_hostile_pickles_are_not_unpickled", "store_hostile.hostile_files_are_refused_and_run_no_code"),
    12: ("impossible shapes", "faults_model.fault_9_hostile_pickles_are_not_unpickled", "store_hostile.invalid_array_descriptions_are_refused_or_give_a_working_model"),
    13: ("lengths that lie", "faults_model.fault_9_hostile_pickles_are_not_unpickled", "store_hostile.wrong_lengths_are_detected"),
    14: ("deep nesting", "faults_model.fault_9_hostile_pickles_are_not_unpickled", "store_hostile.malformed_index_is_refused"),
    15: ("compressed models", "faults_model.fault_9_hostile_pickles_are_not_unpickled"),
    16: ("models that name other files", "faults_model.fault_16_no_other_file_is_opened"),
    17: ("bytes after the end", "store_hostile.trailing_bytes_are_refused_even_with_a_valid_digest", "store_damage.every_damage_is_refused"),
    18: ("a model of a newer format", "store_hostile.other_format_versions_are_refused"),
    19: ("a model of an older format", "store_formats.model_of_a_released_format_scores_unchanged"),
    20: (
        "contents that no training makes",
        "model_schema.changed_part_is_refused_and_each_check_is_triggered", "model_schema.inconsistent_parts_are_refused",
    ),
    21: ("terms and labels that move the cursor", "cli_terminal.names_cannot_move_the_cursor"),
    22: ("a pattern in a model", "faults_model.fault_22_model_with_a_token_pattern_is_refused"),
    23: ("any system call that fails", "faults_system_calls.failing_call_leaves_the_old_or_new_model"),
    24: ("a full disk", "faults_saving.fault_24_full_disk_leaves_the_old_model", "store_atomic.full_disk_leaves_the_old_model"),
    25: ("a disk that fails to sync", "faults_saving.faults_25_and_26_failure_to_sync_or_rename_is_reported"),
    26: ("a file that cannot be renamed", "faults_saving.faults_25_and_26_failure_to_sync_or_rename_is_reported"),
    27: (
        "a folder that cannot be written to",
        "store_atomic.invalid_target_is_reported_before_the_corpus_is_read", "store_atomic.folder_without_write_permission_is_reported",
    ),
    28: (
        "killed at any time",
        "faults_processes.fault_28_process_killed_at_any_time_leaves_old_or_new_model", "faults_system_calls.signal_at_a_call_leaves_the_old_or_new_model",
        "store_atomic.only_temporary_files_of_killed_processes_are_removed", "store_atomic.temporary_file_of_a_running_process_is_kept",
        "model_locked_model.update_killed_at_any_step_is_completed_by_the_next_run",
    ),
    29: (
        "signals in training and saving",
        "store_atomic.signal_during_training_leaves_the_old_model", "faults_system_calls.signal_at_a_call_leaves_the_old_or_new_model",
    ),
    30: ("a second Ctrl-C", "faults_system_calls.fault_30_second_ctrl_c_during_cleanup_leaves_a_valid_model"),
    31: ("symbolic links", "store_atomic.symbolic_link_is_kept_and_its_target_written"),
    32: ("permissions", "store_atomic.permissions_are_kept", "store_atomic.new_file_has_the_permissions_of_the_umask"),
    33: ("hard links", "faults_saving.fault_33_hard_link_is_split"),
    34: ("a model in place of its corpus", "cli_invalid_usage.impossible_requests_are_refused_in_one_line"),
    35: ("updates at the same time", "model_locked_model.fault_35_four_processes_with_ten_updates_each_lose_none"),
    36: ("a lock that is held", "store_lock.fault_36_lock_held_too_long_is_status_5"),
    37: ("the lock of a killed process", "store_lock.fault_37_lock_of_a_killed_process_is_free"),
    38: ("no lock file", "store_lock.invalid_lock_files_are_refused", "store_lock.fault_38_folder_without_write_permission_is_reported"),
    39: ("readers while a writer replaces", "faults_processes.fault_39_readers_get_old_or_new_model_during_replacement", "store_atomic.model_being_replaced_can_always_be_loaded"),
    40: ("a model cut short under a reader", "faults_processes.fault_40_truncating_a_model_in_place_does_not_affect_a_reader"),
    41: ("an update with a document that cannot be read", "faults_processes.fault_41_update_with_unreadable_documents_adds_the_others_or_none"),
    42: ("the same update twice", "cli_once.updates_with_once_equal_one_training_with_once", "cli_once.update_without_once_counts_duplicates_and_keeps_the_ledger"),
    43: ("calls that are interrupted, short reads", "faults_system_calls.interrupted_call_is_repeated", "faults_saving.fault_43_short_reads_give_the_same_model"),
    44: ("too little memory", "faults_saving.fault_44_too_little_memory_is_reported_or_enough", "cli_streams.out_of_memory_is_reported"),
    45: ("too few open files", "faults_saving.fault_45_too_few_open_files_are_reported_and_few_are_enough"),
    46: ("a pipe that closes", "cli_streams.closed_pipe_ends_the_command_silently", "faults_streams.fault_46_every_output_ends_silently_when_the_pipe_closes"),
    47: ("standard output on a full disk", "cli_streams.closed_or_full_standard_output_is_reported"),
    48: ("closed streams", "cli_streams.closed_standard_input_is_reported", "cli_streams.closed_or_full_standard_error_keeps_the_exit_status", "faults_streams.fault_48_all_three_streams_closed_ends_with_a_status"),
    49: ("standard input that is a terminal, or empty", "cli_terminal.typed_input_is_prompted_for", "faults_streams.fault_49_empty_standard_input_is_one_document_or_none"),
    50: (
        "help, version, bad options, unknown commands",
        "cli_help.help_works_with_long_and_short_option", "cli_help.version_prints_name_and_version", "cli_help.unknown_commands_and_options_are_refused_in_one_line",
        "faults_streams.fault_50_unknown_option_is_status_2_on_standard_error",
    ),
    51: ("files with the names of options", "cli_classify.files_named_like_options_are_classified"),
    52: (
        "locales and encodings of the streams",
        "cli_streams.output_bytes_do_not_depend_on_the_locale", "fork_server.forked_run_equals_a_fresh_process",
    ),
    53: ("names of any bytes", "cli_classify.file_names_of_any_bytes_are_printed_as_they_are", "faults_streams.fault_53_names_of_any_bytes_are_printed"),
    54: ("lists of names with NUL", "cli_input.files_from_accepts_names_of_any_bytes", "cli_input.empty_file_list_gives_no_rows_and_a_warning"),
    55: ("one unreadable document of ten thousand", "faults_documents.fault_55_one_unreadable_document_of_ten_thousand"),
    56: ("a file that vanishes", "faults_documents.fault_56_file_that_vanishes_after_it_was_listed"),
    57: ("a file that grows", "faults_documents.fault_57_growing_file_is_read_as_it_was_when_opened"),
    58: ("pipes, devices, sockets", "cli_classify.unreadable_documents_are_records_too", "corpus_directory.unreadable_entries_are_problems_and_the_others_are_read"),
    59: ("symbolic links", "corpus_directory.links_to_class_folders_are_followed_with_and_without_labels"),
    60: ("a file of five gigabytes", "faults_documents.fault_60_file_of_five_gigabytes_is_refused_without_memory"),
    61: ("binary documents", "faults_documents.fault_61_binary_documents_are_reported"),
    62: ("not UTF-8", "corpus_decoding.text_that_is_not_utf8_is_read_as_windows_1252", "corpus_detection_formats.named_encoding_is_strict"),
    63: ("byte order marks", "corpus_decoding.byte_order_mark_sets_the_encoding", "corpus_table.table_encodings_are_detected"),
    64: ("line ends", "faults_tables.fault_64_line_ends_are_read", "corpus_table.quoted_fields_are_read"),
    65: ("bad JSON", "corpus_lines_jsonl.bad_lines_are_reported_by_the_command", "faults_tables.fault_65_json_labels_that_are_not_text_are_converted_or_refused"),
    66: ("bad tables", "corpus_table.rows_of_another_width_are_problems_with_their_line", "corpus_table.broken_quotes_end_the_table_with_the_line"),
    67: (
        "documents without known words",
        "cli_classify.documents_without_known_words_get_the_prior_and_a_notice",
    ),
    68: ("one class, no class, empty classes", "cli_train.one_class_works_and_warns", "corpus_directory.empty_class_gives_a_warning", "corpus_directory.invalid_corpora_are_refused"),
    69: ("a document in two classes", "faults_tables.fault_69_same_document_in_two_classes_is_trained_on"),
    70: (
        "odd labels",
        "cli_train.class_names_may_contain_any_characters", "faults_tables.fault_70_labels_that_look_alike_are_warned_of", "corpus_table.rows_of_another_width_are_problems_with_their_line",
    ),
    71: ("very many, very long", "faults_tables.fault_71_very_many_classes_work", "faults_tables.fault_71_very_long_documents_work"),
    72: ("a very long word", "faults_tables.fault_72_word_of_megabytes_does_not_change_the_prediction"),
    74: (
        "cells like formulas, markup in pages",
        "cli_excel_safe.fault_74_ids_and_labels_are_escaped", "cli_excel_safe.fault_74_terms_are_escaped_and_numbers_are_not", "report_page.hostile_names_and_texts_stay_text",
    ),
    75: (
        "large counts",
        "faults_environment.fault_75_counts_beyond_32_bits_are_exact", "faults_processes.fault_75_merged_counts_stop_before_they_are_inexact",
    ),
    76: (
        "environment and clock",
        "cli_streams.commands_work_with_an_empty_environment", "faults_environment.fault_76_missing_home_and_temporary_folder_and_time_zone_change_nothing",
        "faults_environment.fault_76_jumping_clock_changes_nothing",
    ),
    77: ("hash seeds and order", "cli_train.same_corpus_gives_the_same_bytes", "fork_server.forked_run_equals_a_fresh_process"),
    78: ("modules beside the data", "cli_streams.modules_in_the_current_directory_are_not_imported"),
    79: ("folders of others", "faults_environment.fault_79_temporary_files_cannot_be_guessed_or_planted"),
    80: ("an internal error", "cli_streams.internal_error_is_one_line_and_status_70"),
}  # fmt: skip


@pytest.mark.parametrize("number", FAULTS)
def test_each_fault_has_existing_tests(number: int) -> None:
    _, *tests = FAULTS[number]
    assert tests
    for test in tests:
        module, _, name = test.partition(".")
        tree = ast.parse((Path(__file__).parent / f"test_{module}.py").read_text(encoding="utf-8"))
        assert f"test_{name}" in {
            node.name for node in tree.body if isinstance(node, ast.FunctionDef)
        }
