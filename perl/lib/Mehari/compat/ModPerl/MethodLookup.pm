package ModPerl::MethodLookup;

# Finds the module that has a method, and lists the methods of a module.

use strict;
use warnings;
use Carp ();

my %METHODS;
while (my $line = <DATA>) {
    chomp $line;
    my ($module, $names) = split /: /, $line, 2;
    $METHODS{$module} = [split ' ', $names];
}
close DATA;

my %MODULES;
for my $module (sort keys %METHODS) { push @{ $MODULES{$_} }, $module for @{ $METHODS{$module} } }

sub avail_methods { return sort keys %MODULES }
sub avail_modules { return sort keys %METHODS }

sub preload_all_modules {
    for my $module (avail_modules()) { my $file = ($module =~ s{::}{/}gr) . '.pm'; eval { require $file; 1 } or warn $@ }
    return;
}

# Returns the first module that has a method and whose name matches. AUTOLOAD of Apache2::RequestRec
# and of other classes calls it.
sub module_of {
    my ($method, $prefer) = @_;
    my ($found) = grep { !$prefer || /$prefer/ } @{ $MODULES{$method} || [] };
    return $found;
}

# lookup_method($name or reference, $object or class) returns a hint as text, and the modules.
sub lookup_method {
    my ($method, $object) = @_;
    return ("No 'method' argument was passed\n") unless defined $method;
    my @modules = @{ $MODULES{$method} || [] };
    if (defined $object && @modules > 1) {
        my $class = ref $object || $object;
        my @own = grep { $_ eq $class || $class->isa($_) } @modules;
        @modules = @own if @own;
    }
    return ("To use method '$method' add:\n" . join('', map { "\tuse $_ ();\n" } @modules), @modules) if @modules;
    return ("Don't know anything about method '$method'\n");
}

sub lookup_module {
    my ($module) = @_;
    return ("no 'module' argument was passed\n") unless defined $module;
    my @methods = @{ $METHODS{$module} || [] } or return ("don't know anything about module '$module'\n");
    return ("Module '$module' contains the following XS methods:\n" . join('', map { "\t$_\n" } sort @methods), sort @methods);
}

sub lookup_object {
    my ($object) = @_;
    return ("no 'object' argument was passed\n") unless defined $object;
    return lookup_module(ref $object || $object);
}

sub print_method { _print(lookup_method(@_ == 2 && ref $_[1] ? @_ : $_[0])) }
sub print_module { _print(lookup_module($_)) for @_ }
sub print_object { _print(lookup_object($_)) for @_ }

sub _print { print $_[0]; return }

1;

=head1 NAME

ModPerl::MethodLookup - which module has a method

=head1 SYNOPSIS

    use ModPerl::MethodLookup ();
    my ($hint, @modules) = ModPerl::MethodLookup::lookup_method('print');
    print $hint;

=head1 DESCRIPTION

This module finds the modules that define a method. With Mehari, programs do not need it for methods
of the request, because the first call of a method loads the method's module.

=head1 FUNCTIONS

=over 4

=item lookup_method(NAME, [OBJECT])

Returns a hint as text, and the modules that have the method. With an OBJECT or a class, it returns
only modules for this class.

=item lookup_module(NAME), lookup_object(OBJECT)

Return a hint as text, and the methods of a module or of an object's class.

=item print_method(NAME), print_module(NAMES), print_object(OBJECTS)

Print the hint of C<lookup_method>, C<lookup_module> or C<lookup_object>.

=item avail_methods, avail_modules

Return all names.

=item preload_all_modules

Loads every module. A module that cannot be loaded causes a warning.

=item module_of(NAME, [PATTERN])

Returns the first module that has the method and whose name matches the PATTERN.

=back

=head1 DIFFERENCES

The lists name the methods that exist here.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::porting>.

=cut

__DATA__
APR::Base64: decode encode encode_len
APR::Brigade: bucket_alloc cleanup concat destroy first flatten insert_head insert_tail is_empty last length new next pool prev split
APR::Bucket: data delete destroy eos_create flush_create insert_after insert_before is_eos is_flush length new read remove setaside start type
APR::BucketAlloc: destroy new
APR::BucketType: name
APR::Date: parse_http parse_rfc
APR::Error: strerror
APR::Finfo: atime csize ctime device filetype fname group inode mtime name nlink protection size stat user valid
APR::IpSubnet: new test
APR::OS: current_thread_id
APR::Pool: DESTROY cleanup_for_exec cleanup_register clear destroy is_ancestor new parent_get tag
APR::SockAddr: equal ip_get port
APR::Socket: bind close connect fileno listen opt_get opt_set poll recv recvfrom send sendto timeout_get timeout_set
APR::Status: is_EACCES is_EAGAIN is_ECONNABORTED is_ECONNRESET is_ENOENT is_EOF is_TIMEUP
APR::String: format_size
APR::Table: CLEAR DELETE EXISTS FETCH FIRSTKEY NEXTKEY STORE add clear compress copy do get make merge overlap overlay set unset
APR::ThreadMutex: DESTROY lock new pool_get trylock unlock
APR::ThreadRWLock: DESTROY new pool_get rdlock tryrdlock trywrlock unlock wrlock
APR::URI: fragment hostinfo hostname parse password path port port_of_scheme query rpath scheme unparse user
APR::UUID: format new parse
APR::Util: filepath_name_get password_get password_validate
Apache2::Access: allow_methods allow_options allow_override_opts allow_overrides auth_name auth_type get_basic_auth_pw get_remote_logname note_auth_failure note_basic_auth_failure note_digest_auth_failure satisfies some_auth_required
Apache2::CmdParms: add_config check_cmd_context cmd context directive info method_is_limited override override_opts path pool server temp_pool
Apache2::Command: args_how errmsg name next req_override
Apache2::Connection: aborted base_server bucket_alloc client_addr client_ip client_socket conn_config get_remote_host id input_filters keepalive keepalives local_addr local_host local_ip log_id notes output_filters pool remote_host sbh
Apache2::ConnectionUtil: pnotes pnotes_kill
Apache2::Directive: args as_hash as_string conftree directive filename first_child line_num lookup next parent
Apache2::Filter: MODIFY_CODE_ATTRIBUTES PRINT TIEHANDLE add_input_filter add_output_filter c ctx fflush filter_flush frec get_brigade next pass_brigade print r read remove seen_eos
Apache2::FilterRec: name
Apache2::HookRun: die invoke_handler run_access_checker run_auth_checker run_check_user_id run_fixups run_handler run_header_parser run_log_transaction run_map_to_storage run_post_read_request run_translate_name run_type_checker
Apache2::Log: LOG_MARK alert crit debug emerg error info log log_error log_pid log_reason log_rerror log_serror notice warn
Apache2::MPM: query
Apache2::Module: add ap_api_major_version ap_api_minor_version cmds find_linked_module get_config loaded module_index name next remove_loaded_module top_module
Apache2::Process: pconf pool short_name
Apache2::Provider: register_provider
Apache2::RequestIO: BINMODE CLOSE FILENO GETC OPEN PRINT PRINTF READ TIEHANDLE UNTIE WRITE discard_request_body get_client_block print printf puts read rflush sendfile setup_client_block should_client_block write
Apache2::RequestRec: allowed allowed_methods allowed_xmethods ap_auth_type args assbackwards bytes_sent connection content_encoding content_languages content_type err_headers_out filename finfo handler header_only headers_in headers_out hostname input_filters main method method_number mtime next no_local_copy notes output_filters path_info per_dir_config pool prev proto_input_filters proto_num proto_output_filters protocol proxyreq request_config request_time server status status_line subprocess_env the_request unparsed_uri uri used_path_info user useragent_addr useragent_ip
Apache2::RequestUtil: add_config as_string child_terminate dir_config document_root get_handlers get_limit_req_body get_server_name get_server_port get_status_line is_initial_req is_perl_option_enabled location location_merge new no_cache pnotes pnotes_kill psignature push_handlers register_auth_provider request set_basic_credentials set_handlers slurp_filename
Apache2::Response: custom_response make_etag meets_conditions rationalize_mtime send_cgi_header send_error_response send_mmap set_content_length set_etag set_keepalive set_last_modified update_mtime
Apache2::ServerRec: addrs context error_fname is_virtual keep_alive keep_alive_max keep_alive_timeout limit_req_fields limit_req_fieldsize limit_req_line lookup_defaults module_config names next path port process server_admin server_hostname server_scheme timeout wild_names
Apache2::ServerUtil: add_config add_version_component dir_config error_log2stderr exists_config_define get_handlers get_server_banner get_server_description get_server_version group_id is_perl_option_enabled loglevel method_register push_handlers restart_count server server_root_relative server_shutdown_cleanup_register set_handlers user_id
Apache2::SubProcess: spawn_proc_prog
Apache2::SubRequest: DESTROY internal_fast_redirect internal_redirect internal_redirect_handler lookup_dirent lookup_file lookup_method_uri lookup_uri run
Apache2::URI: construct_server construct_url parse_uri parsed_uri unescape_url
Apache2::Util: escape_path ht_time
ModPerl::Global: special_list_call special_list_clear special_list_register
ModPerl::InterpPool: parent server tipool
ModPerl::Interpreter: current mip num_requests perl refcnt
ModPerl::TiPool: cfg in_use size
ModPerl::TiPoolConfig: max max_requests max_spare min_spare start
ModPerl::Util: current_callback current_perl_id unload_package_xs untaint
Apache2::compat: cgi_env cgi_header_out cgi_var chdir_file cleanup_for_exec content current_callback err_header_out hard_timeout header_in header_out is_main kill_timeout parse_args post_connection reset_timeout send_fd send_fd_length send_http_header seqno soft_timeout table_get_set
