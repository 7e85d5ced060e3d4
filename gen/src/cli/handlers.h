/* SPDX-License-Identifier: Apache-2.0 */
/* Made by tools/generate.py from tables/options.toml: do not edit. */
tly_status tly_cli_run_import(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_ls(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_inspect(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_convert(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_verify(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_diff(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_serve(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_get(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_put(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_ping(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_multiply(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_asm(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_disasm(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_ld(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_isa(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_doctor(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_run(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_check(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_bench(tly_cli *cli, tly_error *error);
tly_status tly_cli_run_help(tly_cli *cli, tly_error *error);
