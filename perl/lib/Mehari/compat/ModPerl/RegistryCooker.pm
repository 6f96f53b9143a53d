package ModPerl::RegistryCooker;

# Runs script files as subs. It is a base class: each step is a method that a subclass can override.
# For `PerlResponseHandler ModPerl::Registry` itself, the server does not use this class but C code,
# on the rung `registry`.

use strict;
use warnings;
use APR::Error            ();
use Apache2::Access       ();
use Apache2::Const        ();
use Apache2::Log          ();
use Apache2::RequestIO    ();
use Apache2::RequestRec   ();
use Apache2::RequestUtil  ();
use Apache2::Response     ();
use Apache2::ServerRec    ();
use ModPerl::Const        ();
use ModPerl::Global       ();
use ModPerl::Util         ();

our $VERSION   = '1.99';
our $NameWithVirtualHost = 1;

use constant { NOP => '', TRUE => 1, FALSE => 0 };

# package => { mtime => seconds, code => sub }
my %common;

sub DEBUG () { 0 }

sub new {
    my ($class, $r) = @_;
    my $self = bless {}, ref $class || $class;
    $self->init($r);
    return $self;
}

sub init {
    my ($self, $r) = @_;
    @$self{qw(REQ URI FILE)} = ($r, $r->uri, $r->filename);
    return;
}

sub handler : method {
    my $class = @_ >= 2 ? shift : __PACKAGE__;
    return $class->new(shift)->default_handler;
}

# Compiles the script if needed and runs it. The script's return value is ignored. The status of the
# response is in `$r`.
sub default_handler {
    my ($self) = @_;
    $self->make_namespace;
    if ($self->should_compile) {
        my $status = $self->can_compile;
        return $status unless $status == Apache2::Const::OK;
        $status = $self->convert_script_to_compiled_handler;
        return $status unless $status == Apache2::Const::OK;
    }
    my $r      = $self->{REQ};
    my $before = $r->status;
    my $answer = $self->run;
    my $after  = $r->status($before);
    return $answer == Apache2::Const::OK && $before != $after ? $after : $answer;
}

sub run {
    my ($self) = @_;
    my ($r, $package) = @$self{qw(REQ PACKAGE)};
    $self->set_script_name;
    $self->chdir_file;
    my $known = $self->should_reset_inc_hash ? {%INC} : undef;
    my $code  = $self->{CODE} || do { no strict 'refs'; \&{"${package}::handler"} };
    my $done  = eval { no warnings FATAL => 'all'; $code->($r); 1 };
    my $answer = $done ? Apache2::Const::OK : $self->error_check;
    ModPerl::Global::special_list_call(END => $package);
    $self->flush_namespace;
    if ($known) {
        for (keys %INC) { delete $INC{$_} unless exists $known->{$_} || /\.pm\z/ }
    }
    $self->chdir_file('/') if $self->{IN_FOLDER};
    return $answer;
}

# ---- permission ----

sub can_compile {
    my ($self) = @_;
    my $r = $self->{REQ};
    return Apache2::Const::DECLINED unless -f $self->{FILE};
    return $self->log_denied('Options ExecCGI is off in this directory') unless $r->allow_options & Apache2::Const::OPT_EXECCGI;
    return Apache2::Const::OK;
}

sub log_denied {
    my ($self, $reason) = @_;
    $self->log_error("$self->{FILE}: $reason");
    return Apache2::Const::FORBIDDEN;
}

# ---- names ----

sub namespace_root { return 'ModPerl::ROOT' }

sub namespace_from { return $_[0]->namespace_from_filename }

sub namespace_from_filename { return $_[0]{FILE} }

sub namespace_from_uri {
    my ($self) = @_;
    my ($uri, $info) = ($self->{URI}, $self->{REQ}->path_info // '');
    my $path = length $info && $uri =~ /\Q$info\E\z/ ? substr $uri, 0, length($uri) - length $info : $uri;
    return $NameWithVirtualHost && $self->{REQ}->server->is_virtual ? join '', $self->{REQ}->get_server_name, $path : $path;
}

sub make_namespace {
    my ($self) = @_;
    my $name = join '_', map { s/([^A-Za-z0-9_])/sprintf '_%2x', ord $1/ger } split m{/}, $self->namespace_from, -1;
    $self->{PACKAGE} = join '::', $self->namespace_root, ref $self, $name;
    return;
}

sub set_script_name { my ($self) = @_; $0 = $self->{FILE}; return }

# ---- the cache ----

sub cache_table { return \%common }

sub cache_table_common { return \%common }

sub cache_table_local { my ($self) = @_; no strict 'refs'; return \%{ (ref $self) . '::RegistryCache' } }

sub cache_it {
    my ($self) = @_;
    $self->cache_table->{ $self->{PACKAGE} } = { mtime => $self->{MTIME}, code => $self->{CODE} };
    return;
}

sub is_cached {
    my ($self) = @_;
    my $known = $self->cache_table->{ $self->{PACKAGE} } or return 0;
    $self->{CODE} = $known->{code};
    return 1;
}

sub uncache_myself { my ($self) = @_; delete $self->cache_table->{ $self->{PACKAGE} }; return }

sub should_compile { return $_[0]->should_compile_if_modified }

sub should_compile_once { return !$_[0]->is_cached }

sub should_compile_if_modified {
    my ($self) = @_;
    $self->{MTIME} = (stat $self->{FILE})[9];
    return 1 unless $self->is_cached;
    my $known = $self->cache_table->{ $self->{PACKAGE} }{mtime};
    return !(defined $known && defined $self->{MTIME} && $known == $self->{MTIME});
}

# ---- compiling ----

sub read_script {
    my ($self) = @_;
    open my $in, '<', $self->{FILE} or do {
        my $error = $! + 0;
        $self->log_error("$self->{FILE}: $!");
        return $error == Errno::EACCES() ? Apache2::Const::FORBIDDEN : $error == Errno::ENOENT() ? Apache2::Const::NOT_FOUND : Apache2::Const::SERVER_ERROR;
    };
    local $/;
    my $text = <$in>;
    $self->{CODE} = \$text;
    return Apache2::Const::OK;
}

require Errno;

# Turns warnings on for a script that begins with `#!perl -w`. The whole process is tainted or not,
# so `-T` only warns.
sub rewrite_shebang {
    my ($self) = @_;
    my ($line) = ${ $self->{CODE} } =~ /\A(#!.*perl.*)/ or return;
    Apache2::ServerRec::warn("$self->{FILE}: -T switch is ignored, enable with 'PerlSwitches -T' in httpd.conf") if $line =~ /\s-\w*T/ && !${^TAINT};
    ${ $self->{CODE} } = "use warnings;\n#line 1\n" . ${ $self->{CODE} } if $line =~ /\s-\w*w/;
    return;
}

sub strip_end_data_segment { ${ $_[0]{CODE} } =~ s/^__(?:END|DATA)__(?:.*)//ms; return }

sub get_mark_line { my ($self) = @_; return "\n#line 1 " . ($self->{FILE} =~ tr/\n\r"/_/r) . "\n" }

sub convert_script_to_compiled_handler {
    my ($self) = @_;
    my $status = $self->read_script;
    return $status unless $status == Apache2::Const::OK;
    $self->rewrite_shebang;
    $self->strip_end_data_segment;
    $self->set_script_name;
    $self->chdir_file;
    my $script = $self->{FILE} =~ s/(['\\])/\\$1/gr;
    my $nph    = $self->get_script_name =~ m{(?:\A|/)nph-[^/]*\z} ? '$_[0]->assbackwards(1);' : '';
    my $text   = join '', "package $self->{PACKAGE};sub handler {local \$0 = '$script';$nph", $self->get_mark_line, ${ $self->{CODE} }, "\n}";
    $status = $self->compile(\$text);
    return $status unless $status == Apache2::Const::OK;
    $self->{CODE} = do { no strict 'refs'; \&{"$self->{PACKAGE}::handler"} };
    $self->cache_it;
    return $status;
}

sub get_script_name { return $_[0]{URI} }

sub compile {
    my ($self, $text) = @_;
    ModPerl::Global::special_list_register(END => $self->{PACKAGE});
    ModPerl::Global::special_list_clear(END => $self->{PACKAGE});
    $self->flush_namespace_normal if $self->{RECOMPILES};
    _evaluate($text);
    return $@ ? $self->error_check : Apache2::Const::OK;
}

# Evaluates code. It stands apart so that the code does not see lexical variables of other subs.
sub _evaluate { no strict; no warnings; eval ${ $_[0] }; return }

sub error_check {
    my ($self) = @_;
    my $error = $@;
    return Apache2::Const::OK unless $error;
    $self->log_error($error);
    $@ = undef unless ref $self && $self->{KEEP_ERROR};
    return Apache2::Const::SERVER_ERROR;
}

sub log_error { my ($self, @text) = @_; $self->{REQ}->log_error(@text); return }

sub should_reset_inc_hash { return FALSE }

# ---- steps for subclasses ----

sub chdir_file { return }

# Enters the script's folder. With an argument, it enters the server's folder.
sub chdir_file_normal {
    my ($self, $folder) = @_;
    my ($own) = $self->{FILE} =~ m{\A(.*)/};
    $self->{IN_FOLDER} = !defined $folder;
    chdir(defined $folder ? Apache2::ServerUtil::server_root() : length($own // '') ? $own : '/') or $self->log_error("cannot enter the script's folder: $!");
    return;
}

sub flush_namespace { return }

sub flush_namespace_normal { ModPerl::Util::unload_package($_[0]{PACKAGE}); return }

# install_aliases(\%names) installs subs of this class in a subclass, as mod_perl's classes do.
sub install_aliases {
    my ($class, %map) = (shift, %{ $_[0] });
    no strict 'refs';
    for my $name (keys %map) { *{"${class}::$name"} = $map{$name} eq NOP ? sub { } : \&{"ModPerl::RegistryCooker::$map{$name}"} }
    return;
}

1;

__END__

=head1 NAME

ModPerl::RegistryCooker - the steps of running a script, for subclasses

=head1 SYNOPSIS

    package My::Registry;
    use parent 'ModPerl::Registry';

    sub handler : method { my ($class, $r) = @_; return $class->new($r)->default_handler }
    sub namespace_root { return 'My::Scripts' }
    sub read_script {
        my $self = shift;
        my $status = $self->SUPER::read_script;
        ${ $self->{CODE} } =~ s/OLD/NEW/g if $status == 0;
        return $status;
    }

=head1 DESCRIPTION

Each step is a method. The object is a hash with the keys REQ (the request), URI, FILE, PACKAGE,
MTIME and CODE.

=head1 METHODS

=over 4

=item new(R), init(R)

C<new> makes the object, and C<init> fills the object from a request.

=item handler(R), default_handler

Compile the script if needed and run it. Return OK or a status.

=item run

Calls the compiled script. Returns OK, or 500 if it died.

=item can_compile

Returns OK, DECLINED if there is no file, or 403 without ExecCGI.

=item make_namespace, namespace_root, namespace_from, namespace_from_filename,
namespace_from_uri

Return the name of the script's package, or a part of this name. C<make_namespace> stores the name
in PACKAGE.

=item set_script_name, get_script_name, get_mark_line

C<set_script_name> sets C<$0>. C<get_script_name> returns the path of the request. C<get_mark_line>
returns the C<#line> directive before the code.

=item should_compile, should_compile_once, should_compile_if_modified

Return whether the script must be compiled.

=item cache_table, cache_table_common, cache_table_local, cache_it, is_cached, uncache_myself

Return the table of compiled scripts, add the script to it, look the script up, or remove the
script.

=item read_script, rewrite_shebang, strip_end_data_segment

C<read_script> reads the file into CODE, a reference to the text. C<rewrite_shebang> turns warnings
on if the script has C<-w>. C<strip_end_data_segment> cuts the text at C<__END__>.

=item convert_script_to_compiled_handler, compile(TEXT_REFERENCE)

Wrap the text in a sub and compile it.

=item error_check, log_error(TEXTS), log_denied(REASON)

C<error_check> returns OK if C<$@> is empty. Otherwise it logs C<$@> and returns 500. C<log_error>
writes a line to the error log. C<log_denied> writes a line and returns 403.

=item should_reset_inc_hash, chdir_file, chdir_file_normal([FOLDER]), flush_namespace,
flush_namespace_normal

Prepare the run and clean up after it. A subclass overrides them.

=item install_aliases(NAMES)

Installs methods of this class under names of a subclass.

=back

=head1 VARIABLES

=over 4

=item $ModPerl::RegistryCooker::NameWithVirtualHost

If true, the name of a package that is made from a URI begins with the name of the virtual host.

=back

=head1 DIFFERENCES

C<PerlResponseHandler ModPerl::Registry> itself does not use this class. The return value of a
script is never a status.

=head1 SEE ALSO

L<ModPerl::Registry>, L<ModPerl::PerlRun>.

=cut
