package Apache2::RequestUtil;

# Further methods of a request. Most of them are XS (xs/api/request.c).

use strict;
use warnings;
use Apache2::RequestRec ();

package Apache2::RequestRec;

use strict;
use warnings;

sub get_server_name { my ($self) = @_; return $self->_server_name }

sub get_server_port { my ($self) = @_; return ($self->_addresses)[3] }

# The configured folder, or the one set for the request. Returns the previous value.
{
    my $configured = \&document_root;
    no warnings 'redefine';
    *document_root = sub {
        my $self  = shift;
        my $slots = $self->_slots;
        my $old   = $slots->{document_root} // $configured->($self);
        $slots->{document_root} = "$_[0]" if @_;
        return $old;
    };
}

# "404 Not Found"
sub Apache2::RequestUtil::get_status_line { my ($status) = @_; require Mehari::Reasons; return Mehari::Reasons::line($status) }

sub as_string {
    my ($self) = @_;
    my $text = $self->the_request . "\n";
    $self->headers_in->do(sub { $text .= "$_[0]: $_[1]\n"; 1 });
    $text .= "\n" . $self->protocol . ' ' . ($self->status_line // '(null)') . "\n";
    for my $table ($self->headers_out, $self->err_headers_out) { $table->do(sub { $text .= "$_[0]: $_[1]\n"; 1 }) }
    return "$text\n";
}

# The whole file; dies with an APR::Error.
sub slurp_filename {
    my ($self, $tainted) = @_;
    my $name = $self->filename;
    open my $in, '<:raw', $name or do { require APR::Error; APR::Error::throw($! + 0, "slurp_filename('$name') / opening") };
    local $/;
    my $text = <$in>;
    close $in;
    $text = '' unless defined $text;
    return \$text;
}

sub set_basic_credentials {
    my ($self, $user, $password) = @_;
    require MIME::Base64;
    $self->headers_in->set(Authorization => 'Basic ' . MIME::Base64::encode_base64("$user:$password", ''));
    return;
}

# The front enforces the limit and has refused larger bodies.
sub get_limit_req_body { return 0 }

# Adds configuration for the rest of the request.
sub add_config { my ($self, $lines) = @_; require Mehari::RequestConfiguration; return Mehari::RequestConfiguration::apply($self, $lines) }

sub psignature { my ($self, $prefix) = @_; return '' }

sub register_auth_provider { CORE::die "Apache2::RequestRec::register_auth_provider: use PerlAuthenHandler and PerlAuthzHandler\n" }

# Apache2::RequestRec->new($c): another request of the connection, as for `/`.
sub new {
    my ($class, $connection) = @_;
    require Apache2::SubRequest;
    return bless $connection->{r}->lookup_uri('/'), __PACKAGE__;
}

1;

__END__

=head1 NAME

Apache2::RequestUtil - handlers, variables and notes of a request

=head1 SYNOPSIS

    use Apache2::RequestUtil ();

    sub handler {
        my $r = shift;
        my $folder = $r->dir_config('UploadFolder');    # PerlSetVar UploadFolder /srv/uploads
        $r->pnotes(form => { name => 'Ann' });
        $r->push_handlers(PerlCleanupHandler => sub { unlink "$folder/part"; return 0 });
        $r->no_cache(1);
        return 0;
    }

=head1 DESCRIPTION

Loading this module adds methods to L<Apache2::RequestRec>. Its own functions are about the
current request.

=head1 CLASS METHODS

=over 4

=item request

Returns the request that is being served. Dies outside of a request, except in void context.

=item get_status_line(STATUS)

A function: the number with its words, such as C<404 Not Found>. An unknown status has the words
of 500.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item dir_config([NAME, [VALUE]])

The variables of PerlSetVar and PerlAddVar: an L<APR::Table>, or the first value of a name. A
new value holds for the rest of the request; undef removes it.

=item push_handlers(PHASE, HANDLERS), set_handlers(PHASE, HANDLERS)

Adds handlers to a phase of this request, or replaces them. A handler is a name or code; several
are an array reference. C<set_handlers> with undef removes all. Returns true, and false with a line
in the error log for an unknown phase. Dies for what is no handler.

=item get_handlers(PHASE)

An array reference of the handlers of a phase, as code where a name can be loaded.

=item pnotes([NAME, [VALUE]])

Notes of any kind until the end of the request. Without a name, the hash. A new value is kept
itself, not as a copy, and is returned.

=item pnotes_kill

Empties these notes.

=item no_cache([FLAG])

True sets Pragma, Cache-Control and Expires so that nothing keeps the response; false removes
the first two. Returns the flag before.

=item is_initial_req

False in a sub-request and after an internal redirect.

=item is_perl_option_enabled(NAME)

Whether PerlOptions turns on ParseHeaders, SetupEnv, GlobalRequest or MergeHandlers here. Dies
for another name.

=item location

The path of the C<< <Location> >> of the request.

=item location_merge(PATH)

Puts the configuration of another location in force. Returns whether there is one.

=item document_root([FOLDER])

The folder of the site. A new value holds for this request.

=item get_server_name, get_server_port

The name of the server for this request, and the port of the connection.

=item add_config(LINES)

Adds lines of configuration (text, or an array reference) for the rest of the request:
PerlSetVar, PerlAddVar, PerlSetEnv, SetEnv, SetHandler, ForceType, ErrorDocument, AuthName,
AuthType, and handlers of later phases. Dies for any other line.

=item as_string

The request line, the fields of the request, the status and the fields of the response, as text.

=item slurp_filename

A reference to the whole content of the file. Dies with an L<APR::Error> if the file cannot be
read.

=item set_basic_credentials(USER, PASSWORD)

Sets the field Authorization of the request.

=item child_terminate

Replaces this worker after the request.

=item new(CONNECTION)

A class method: a sub-request for C</> on a connection.

=item get_limit_req_body

Always 0: the front has refused bodies that are too large.

=item psignature(PREFIX)

Always the empty text.

=item register_auth_provider

Dies. Use PerlAuthenHandler and PerlAuthzHandler, or the directive PerlAddAuthnProvider.

=back

=head1 DIFFERENCES

C<< Apache2::RequestUtil->request >> works with and without C<PerlOptions +GlobalRequest>.
C<get_handlers> returns an empty array where mod_perl returns undef. C<add_config> cannot change
what the front has decided, such as Options or Require. C<slurp_filename> never taints its
result.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::RequestIO>, F<docs/reference/phases.md>,
F<docs/reference/modperl.md>.

=cut
