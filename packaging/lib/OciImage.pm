package OciImage;
# Writes an image layout of the OCI image specification (v1.1): blobs named by their SHA-256, a
# configuration, a manifest and an index. packaging/build-image calls this. It knows nothing of
# Mehari, and it runs nothing but tar and gzip.
use strict;
use warnings;
use Digest::SHA;
use File::Path qw(make_path);
use JSON::PP;
use POSIX qw(strftime);

my $TYPE = 'application/vnd.oci.image';
my $JSON = JSON::PP->new->canonical;

# TIME, in seconds since 1970, is the image's: the same root and the same time give the same bytes.
sub new {
    my ($class, $folder, $architecture, $time) = @_;
    make_path("$folder/blobs/sha256");
    return bless {folder => $folder, architecture => $architecture, time => $time, layers => []}, $class;
}

# Adds the files below ROOT as a layer. `$shell` runs a line of sh as the files' owner, in ROOT.
sub layer {
    my ($self, $root, $shell) = @_;
    my $tar = "$self->{folder}/layer.tar";
    $shell->("tar --sort=name --numeric-owner --one-file-system --mtime=\@$self->{time} --clamp-mtime -cf - . >'$tar'");
    my $plain = digest_of($tar);
    system('gzip', '-n', '-9', $tar) == 0 or die "gzip: failed for $tar\n";
    push @{$self->{layers}}, {plain => $plain, %{$self->file("$tar.gz", "$TYPE.layer.v1.tar+gzip")}};
}

# Writes what describes the layers. `$name` is the image's name with its tag.
sub finish {
    my ($self, $name, $configuration, $labels) = @_;
    my $created = strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $self->{time});
    my @layers  = @{$self->{layers}};
    my $config  = $self->text("$TYPE.config.v1+json", {
        created      => $created,
        os           => 'linux',
        architecture => $self->{architecture},
        config       => {%$configuration, Labels => $labels},
        rootfs       => {type => 'layers', diff_ids => [map { $_->{plain} } @layers]},
        history      => [map { {created => $created, created_by => 'packaging/build-image'} } @layers],
    });
    my $manifest = $self->text("$TYPE.manifest.v1+json", {
        schemaVersion => 2,
        mediaType     => "$TYPE.manifest.v1+json",
        config        => $config,
        layers        => [map { {mediaType => $_->{mediaType}, digest => $_->{digest}, size => $_->{size}} } @layers],
        annotations   => {%$labels, 'org.opencontainers.image.created' => $created},
    });
    # podman reads the first name, Docker the second.
    my %names = ('org.opencontainers.image.ref.name' => $name, 'io.containerd.image.name' => $name);
    my $platform = {os => 'linux', architecture => $self->{architecture}};
    $self->write('index.json', $JSON->encode({schemaVersion => 2, mediaType => "$TYPE.index.v1+json",
        manifests => [{%$manifest, platform => $platform, annotations => \%names}]}));
    $self->write('oci-layout', $JSON->encode({imageLayoutVersion => '1.0.0'}));
}

# Writes the layout as one file, which `podman load` and `docker load` read.
sub archive {
    my ($self, $path) = @_;
    system('tar', '--sort=name', '--owner=0', '--group=0', "--mtime=\@$self->{time}", '-C', $self->{folder}, '-cf', $path, '.') == 0
        or die "tar: failed for $path\n";
}

# Returns the descriptor of a blob: its type, digest and size.
sub text {
    my ($self, $type, $value) = @_;
    $self->write('new', $JSON->encode($value));
    return $self->file("$self->{folder}/new", $type);
}

sub file {
    my ($self, $path, $type) = @_;
    my $digest = digest_of($path);
    my $blob   = "$self->{folder}/blobs/" . $digest =~ s{:}{/}r;
    rename $path, $blob or die "$blob: $!\n";
    return {mediaType => $type, digest => $digest, size => -s $blob};
}

sub write {
    my ($self, $name, $text) = @_;
    open my $out, '>', "$self->{folder}/$name" or die "$self->{folder}/$name: $!\n";
    print $out $text;
    close $out or die "$self->{folder}/$name: $!\n";
}

sub digest_of { return 'sha256:' . Digest::SHA->new(256)->addfile($_[0], 'b')->hexdigest }

1;
