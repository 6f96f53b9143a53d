package Mehari::State::ApacheASP;

# Stores Apache::ASP's $Session, $Application and internal records, for sites with `PerlSetVar
# StateDB Mehari::State`. All of them are in one file, StateDir/mehari.state. Apache::ASP itself
# needs a folder, a lock file and two SDBM files for each session, and opens and closes them at each
# access. Our Apache/ASP/State.pm loads this module after the installed Apache::ASP::State. Sites
# with another StateDB use the installed module unchanged.

use strict;
use warnings;
use Fcntl qw(O_RDWR O_CREAT);

$Apache::ASP::State::DB{'Mehari::State'} = ['.state'];

my %files; # folder => path of its store file; the folder is known to exist

sub state_of {
    my ($asp, $id, $group) = @_;
    return $asp->Error('no id for a state') unless defined $id && length $id;
    $group = substr $id, 0, $Apache::ASP::State::DefaultGroupIdLength unless defined $group && length $group;
    my $folder = $asp->{state_dir};
    my $self = bless {
        asp => $asp, id => $id, group => $group, state_dir => $folder, dir => "$folder/$group", group_dir => "$folder/$group",
        file => "$folder/$group/$id", reads => 0, writes => 0, in_store => 1,
    }, 'Apache::ASP::State';
    return $self if $group eq $id;
    $self->{dbm} = eval { open_state($asp, $folder, "$group/$id") } or $asp->Error("cannot open the state: $@");
    return $self;
}

sub open_state {
    my ($asp, $folder, $name) = @_;
    if (defined(my $url = $asp->config('StateStore'))) {
        require Mehari::State::Structures;
        return Mehari::State::Structures->TIEHASH("$folder/$name", O_RDWR | O_CREAT, in => $url);
    }
    my ($folder_mode, $file_mode) = $asp->config('StateAllWrite') ? (0777, 0666) : $asp->config('StateGroupWrite') ? (0770, 0660) : (0750, 0640);
    my $file = $files{$folder} //= do {
        -d $folder or mkdir $folder, $folder_mode or -d $folder or die "cannot make the folder $folder: $!\n";
        require Cwd;
        Cwd::abs_path($folder) . '/mehari.state';
    };
    require Mehari::State::Structures;
    return Mehari::State::Structures->TIEHASH($name, O_RDWR | O_CREAT, $file_mode, in => $file);
}

# Returns the sessions in the internal records, by group. The group is the first two characters of
# a session's id.
sub sessions_by_group {
    my ($asp) = @_;
    return $asp->{internal_cached_keys} ||= do {
        my %groups;
        for (keys %{ $asp->{Internal} }) { $groups{$1}{$_} = 1 if /\A([0-9a-f]{2})[0-9a-f]+\z/ }
        \%groups;
    };
}

# Methods for objects that are in the store. Other objects keep the installed methods.
my %ours = (
    UmaskClear    => sub { },
    UmaskRestore  => sub { },
    DeleteGroupId => sub { 1 },
    GroupMembers  => sub { [keys %{ sessions_by_group($_[0]{asp})->{ $_[0]{group} } // {} }] },
    DefaultGroups => sub { [sort keys %{ sessions_by_group($_[0]{asp}) }] },
);

{
    no strict 'refs';
    no warnings 'redefine';
    for my $name (keys %ours) {
        my ($ours, $theirs) = ($ours{$name}, \&{"Apache::ASP::State::$name"});
        *{"Apache::ASP::State::$name"} = sub { $_[0]{in_store} ? &$ours : &$theirs };
    }
    my $theirs = \&Apache::ASP::State::new;
    *Apache::ASP::State::new = sub { ($_[0]{state_db} // '') eq 'Mehari::State' ? &state_of : &$theirs };
}

1;

__END__

=head1 NAME

Mehari::State::ApacheASP - internal

=head1 DESCRIPTION

This module is internal to the server: it stores Apache::ASP's state objects; see
L<Apache::ASP::State>.

=cut
