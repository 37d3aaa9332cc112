"""The list of faults of streams, documents, tables and surroundings, each with the test that runs the real command against it.

Not there yet, and so without a test: 73 (patterns of one's own for tokens) and, of 74, reports as a page; of 69, a command that checks a
corpus; of 75, many updates; of 77, several jobs.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FAULTS = {
    46: ("a pipe that closes", "cli_streams.a_pipe_that_closes_ends_it_quietly", "faults_streams.fault_46_every_output_ends_quietly_when_the_pipe_closes"),
    47: ("standard output on a full disk", "cli_streams.standard_output_that_takes_nothing"),
    48: ("closed streams", "cli_streams.standard_input_closed", "cli_streams.standard_error_closed_or_full", "faults_streams.fault_48_all_three_streams_closed"),
    49: ("standard input that is a terminal, or empty", "cli_terminal.typing_a_document_is_invited", "faults_streams.fault_49_empty_standard_input"),
    50: (
        "help, version, bad options, unknown commands",
        "cli_help.help_by_either_name", "cli_help.version", "cli_help.what_is_unknown_is_told_in_one_line",
        "faults_streams.fault_50_a_bad_option_is_status_2_on_standard_error",
    ),
    51: ("files with the names of options", "cli_classify.files_with_the_names_of_options"),
    52: (
        "locales and encodings of the streams",
        "cli_streams.the_same_bytes_under_every_locale", "faults_streams.fault_52_the_same_bytes_whatever_python_is_told",
    ),
    53: ("names of any bytes", "cli_classify.names_of_any_bytes_are_given_back", "faults_streams.fault_53_names_of_any_bytes"),
    54: ("lists of names with NUL", "faults_streams.fault_54_lists_with_nul"),
    55: ("one unreadable document of ten thousand", "faults_documents.fault_55_one_unreadable_of_ten_thousand"),
    56: ("a file that vanishes", "faults_documents.fault_56_a_file_that_vanishes_after_it_was_listed"),
    57: ("a file that grows", "faults_documents.fault_57_a_file_that_grows_while_it_is_read"),
    58: ("pipes, devices, sockets", "cli_classify.what_cannot_be_read_is_a_record_too", "faults_documents.fault_58_devices_are_no_documents"),
    59: ("symbolic links", "faults_documents.fault_59_symbolic_links_to_directories_are_not_followed"),
    60: ("a file of five gigabytes", "faults_documents.fault_60_a_file_of_five_gigabytes"),
    61: ("binary documents", "faults_documents.fault_61_binary_documents"),
    62: ("not UTF-8", "faults_documents.fault_62_bytes_that_are_not_utf_8"),
    63: ("byte order marks", "faults_documents.fault_63_byte_order_marks"),
    64: ("line ends", "faults_tables.fault_64_line_ends", "faults_tables.fault_64_a_line_break_inside_a_quoted_field"),
    65: ("bad JSON", "faults_tables.fault_65_bad_records_of_json", "faults_tables.fault_65_labels_of_json_that_are_no_text"),
    66: ("bad tables", "faults_tables.fault_66_bad_tables"),
    67: (
        "documents without known words",
        "cli_classify.empty_documents_and_unknown_words_get_the_prior_and_a_notice",
        "faults_tables.fault_67_documents_without_known_words_are_flagged",
    ),
    68: ("one class, no class, empty classes", "cli_train.one_class_works_and_warns", "faults_tables.fault_68_no_classes_and_classes_without_documents"),
    69: ("a document in two classes", "faults_tables.fault_69_the_same_document_in_two_classes"),
    70: (
        "odd labels",
        "cli_train.class_names_of_any_kind", "faults_tables.fault_70_labels_that_look_alike_are_told_of", "faults_tables.fault_70_empty_labels_are_no_classes",
    ),
    71: ("very many, very long", "faults_tables.fault_71_very_many_classes", "faults_tables.fault_71_very_long_documents"),
    72: ("a very long word", "faults_tables.fault_72_a_word_of_ten_megabytes"),
    74: ("cells like formulas", "cli_excel_safe.fault_74_ids_and_labels", "cli_excel_safe.fault_74_terms_but_not_numbers"),
    75: ("large counts", "faults_surroundings.fault_75_counts_beyond_32_bits"),
    76: (
        "environment and clock",
        "cli_streams.an_empty_environment", "faults_surroundings.fault_76_no_home_no_temporary_folder_any_time_zone",
        "faults_surroundings.fault_76_a_clock_that_jumps",
    ),
    77: ("hash seeds and order", "cli_train.same_corpus_same_bytes", "faults_surroundings.fault_77_the_same_bytes_for_every_hash_seed"),
    78: ("modules beside the data", "cli_streams.modules_in_the_current_directory_are_not_imported"),
    79: ("folders of others", "faults_surroundings.fault_79_temporary_files_cannot_be_guessed_or_planted"),
    80: ("an internal error", "cli_streams.an_internal_error_is_one_line_and_status_70"),
}  # fmt: skip


@pytest.mark.parametrize("number", FAULTS)
def test_each_fault_has_its_tests(number: int) -> None:
    _, *tests = FAULTS[number]
    assert tests
    for test in tests:
        module, _, name = test.partition(".")
        tree = ast.parse((Path(__file__).parent / f"test_{module}.py").read_text(encoding="utf-8"))
        assert f"test_{name}" in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
