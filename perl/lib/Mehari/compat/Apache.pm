package Apache;

# Gives mod_perl 1's request and server to old scripts and handlers. `$r` has this class under a
# handler of mod_perl 1 (`PerlHandler Apache::Registry`) and as the result of `Apache->request`.

use strict;
use warnings;
use Mehari ();
use Apache2::compat      ();
use Apache2::RequestUtil ();
use Apache2::ServerUtil  ();

our $VERSION = '1.31';
our @ISA     = ('Apache2::RequestRec');

# ---- class methods ----

# A configuration may use these as handlers: `PerlTransHandler Apache::OK`.
sub OK       { return 0 }
sub DECLINED { return -1 }

# If the site has loaded only Apache2::compat, the request keeps mod_perl 2's class, as under
# mod_perl 2.
sub request {
    my $r = Apache2::RequestUtil->request or return;
    return $Apache2::compat::is_alone ? $r : bless $r, __PACKAGE__;
}

sub server { my ($self) = @_; return ref $self ? $self->SUPER::server : Apache2::ServerUtil->server }

sub exit { shift if @_ && ref $_[0]; CORE::exit(@_ ? $_[0] : 0) }

sub define { my ($class, $name) = @_; return Apache2::ServerUtil::exists_config_define($name) }

sub module { my ($class, $name) = @_; require Apache2::Module; return Apache2::Module::loaded($name) ? 1 : 0 }

sub httpd_conf { my ($class, @lines) = @_; return Apache2::ServerUtil->server->add_config([map { split /\n/ } @lines]) }

sub perl_hook { return 1 }

sub can_stack_handlers { return 1 }

sub gensym { require Symbol; return Symbol::gensym() }

sub untaint { shift; require ModPerl::Util; ModPerl::Util::untaint($_) for @_; return }

sub unescape_url { my $text = pop; require Apache2::URI; return Apache2::URI::unescape_url($text) }

sub unescape_url_info { my $text = unescape_url(pop); $text =~ tr/+/ /; return $text }

# These can be called as methods or as functions: `Apache::log_error('text')`.
sub _words { shift if @_ && (ref $_[0] || $_[0] eq __PACKAGE__); return join '', @_ }

sub log_error { Mehari::log_line(3, _words(@_)); return }

*warn = sub { Mehari::log_line(4, _words(@_)); return };

sub push_handlers {
    my ($self, $phase, $handler) = @_;
    return ref $self ? $self->SUPER::push_handlers($phase, $handler) : Apache2::ServerUtil->server->push_handlers($phase, $handler);
}

sub set_handlers {
    my ($self, $phase, $handler) = @_;
    return ref $self ? $self->SUPER::set_handlers($phase, $handler) : Apache2::ServerUtil->server->set_handlers($phase, $handler);
}

sub server_root_relative {
    my ($self, @path) = @_;
    return Apache2::ServerUtil::server_root_relative(ref $self ? $self->pool : undef, @path);
}

# ---- methods of `$r` that return pairs in list context ----

sub args {
    my $self = shift;
    my $args = $self->SUPER::args(@_);
    return wantarray ? $self->parse_args(1, $args) : $args;
}

sub content {
    my ($self) = @_;
    my $text = $self->SUPER::content;
    return wantarray ? $self->parse_args(1, $text) : $text;
}

for my $name (qw(headers_in headers_out err_headers_out subprocess_env notes dir_config)) {
    my $original = "Apache2::RequestRec::$name";
    no strict 'refs';
    *$name = sub {
        my $self = shift;
        return $self->$original(@_) if @_;
        my $table = $self->$original;
        return $table unless wantarray;
        my @pairs;
        $table->do(sub { push @pairs, @_; 1 });
        return @pairs;
    };
}

# Calls stat for the request's file. Returns the handle `_`, so that -s and other tests use the
# result.
sub finfo {
    my ($self) = @_;
    no warnings 'newline';
    stat $self->filename;
    return \*_;
}

1;

__END__

=head1 NAME

Apache - mod_perl 1's request and server

=head1 SYNOPSIS

    use Apache ();

    sub handler {
        my $r = shift;    # under PerlHandler of mod_perl 1, or Apache->request
        my $again = Apache->request;
        my %args = $again->args;
        my %fields = $again->headers_in;
        return 0;
    }

=head1 DESCRIPTION

The class is an L<Apache2::RequestRec> with the methods of L<Apache2::compat>. Under a handler
of mod_perl 1 such as C<PerlHandler Apache::Registry>, C<$r> has this class.

=head1 CLASS METHODS

=over 4

=item request

Returns the current request.

=item server

As a class method it returns the main server. As a method of a request it returns the server of this
request.

=item exit([STATUS])

Ends the request.

=item define(NAME)

Returns whether NAME is defined, as C<< <IfDefine> >> tests it.

=item module(NAME)

Does the same as C<Apache2::Module::loaded>.

=item httpd_conf(LINES)

Adds lines of configuration while the server starts.

=item perl_hook, can_stack_handlers

Always return 1.

=item gensym

Returns a new anonymous glob, as C<Symbol::gensym> does.

=item untaint(VARIABLES)

Removes the taint from the variables.

=item unescape_url(TEXT), unescape_url_info(TEXT)

Decode C<%> codes. C<unescape_url_info> also decodes C<+> as a blank.

=item log_error(TEXTS), warn(TEXTS)

Write a line to the error log.

=item push_handlers(PHASE, HANDLER), set_handlers(PHASE, HANDLER)

As class methods, they change the handlers of the main server. As methods of a request, they change
the handlers of this request.

=item server_root_relative([PATH])

Returns the path below ServerRoot.

=item OK, DECLINED

A configuration may use them as handlers: C<PerlTransHandler Apache::OK>.

=back

=head1 METHODS

=over 4

=item args, content, headers_in, headers_out, err_headers_out, subprocess_env, notes, dir_config

In list context, they return a list of names and values. In scalar context, they do the same as the
methods of mod_perl 2.

=item finfo

Calls C<stat> for the file of the request. Returns a handle for C<-s> and other file tests.

=back

=head1 DIFFERENCES

C<exit> is perl's own C<exit>, which no C<eval> catches. C<perl_hook> returns 1 for every name.

=head1 SEE ALSO

L<Apache2::compat>, L<Apache2::RequestRec>, L<Apache::Constants>, F<docs/reference/modperl.md>.

=cut
